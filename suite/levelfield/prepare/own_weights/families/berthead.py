"""BERT with a head that answers data sets: `BertForQuestionAnswering` and `BertForSequenceClassification`."""

import msgspec

from levelfield.prepare.own_weights.families import bert
from levelfield.prepare.own_weights.families.types import Declared, Family, Shapes
from levelfield.prepare.own_weights.families.types import classes as classes_of
from levelfield.zoo.berthead.spec import ANSWERS, CLASSIFIER, Sizes


def _declare(config: bert.Config, shapes: Shapes) -> Declared:
    declared = bert.FAMILY.declare(config, shapes)
    found = 0 if f"{ANSWERS}.weight" in shapes else classes_of(shapes, f"{CLASSIFIER}.weight")
    return msgspec.structs.replace(declared, sizes=Sizes(**msgspec.structs.asdict(declared.sizes), classes=found))


FAMILY = Family(
    model_type="bert",
    models=("berthead",),
    title="BERT with a head",
    config=bert.Config,
    declare=_declare,
    names=bert.FAMILY.names,
    unused=("cls.", "embeddings.position_ids", "bert.embeddings.position_ids"),
)
"""Of a folder's network with its head, where a data set asks for one."""
