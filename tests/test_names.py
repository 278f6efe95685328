from suite.names import unknown


def test_close_names_are_offered_first() -> None:
    error = unknown("backend", "onxruntime", ["torch", "onnxruntime", "jax"])
    assert str(error) == "There is no backend called 'onxruntime'. Did you mean 'onnxruntime'?"


def test_all_names_are_offered_where_none_is_close() -> None:
    assert unknown("model", "zzz", ["mlp", "bert"]).fix == "Known: bert, mlp."
    assert unknown("model", "zzz", []).fix == "There are none."
