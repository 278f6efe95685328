"""Public data sets with labels, on which answers are judged: read on the host, prepared once, scored by their rules.

`tasks` says which there are, `imagenet`, `squad` and `glue` read their files, `preprocessor` lets a container decode
and tokenize, `windows` makes what BERT takes, `preparing` makes the one file that workers read, and `scoring` judges
answers.
"""
