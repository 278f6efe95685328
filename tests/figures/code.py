"""Figures that are constants of the code: limits, tolerances, sizes of what is computed."""

from collections.abc import Sequence
from functools import partial

from studies.padding.command import LAUNCHES, TOGETHER
from suite.analysis.insights import saturation
from suite.analysis.race import LEAD_PRECISION
from suite.plan.profiles import PROFILES
from suite.prepare.own_model import python_file
from suite.prepare.own_model import reference as own_reference
from suite.prepare.own_model.support import SIZED_AS
from suite.prepare.own_weights import safetensors_format
from suite.prepare.own_weights.families import llama
from suite.report import axes, overview, units
from suite.schedule import padding, roofline
from suite.schedule.race import MOST_FIRST_PASSES
from suite.share.site.pages import PAIRS
from suite.statistics.multiple import DEFAULT_Q
from suite.statistics.student import MIN_LAUNCHES
from suite.statistics.verdicts import DEFAULT_MARGIN
from suite.statistics.windows import TAILS, least_calls
from suite.upgrade.unit import SETTLE_S
from suite.worker import converging
from suite.zoo import flops, honesty, models, onnx_quantize, own_images
from suite.zoo.bert import spec as bert
from suite.zoo.decoder import spec as decoder
from suite.zoo.decoding import STEPS
from suite.zoo.digits import data as digits
from suite.zoo.mlp.spec import DIGITS_WIDTHS
from suite.zoo.parity import TOLERANCES
from suite.zoo.training import convergence, parity, recipe
from tests.commands import ROOT
from tests.figures import prints
from tests.figures.checking import Figure

METHOD, READING, UPGRADE = "docs/method.md", "docs/reading-a-report.md", "docs/upgrade.md"
TRAINING, VERDICTS, VERSIONS = "docs/training.md", "docs/verdicts.md", "docs/versions.md"
MODELS = "docs/models.md"


def _power(value: float) -> str:
    """`1e-5`."""
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _percent(share: float) -> str:
    return f"{100 * share:g}"


def _batches_of_macs() -> list[object]:
    found = [f"{flops.count(models.get(name)).macs / 1e9:.2f}" for name in ("resnet50", "bert")]
    return [*found, bert.SEQUENCE]


def _sensitivities() -> list[object]:
    found = [_power(parity.FACTOR * convergence.goal(name).sensitivity) for name in ("mlp", "resnet50")]
    return [f"{parity.FACTOR:g}", *found]


def _lowered_tolerances() -> list[object]:
    each = [parity.tolerances(name, "bf16") for name in ("mlp", "resnet50", "bert")]
    return [_power(value) for found in each for value in (found.losses, found.gradients)]


def _script_kilobytes() -> list[object]:
    files = (ROOT / "suite" / "report" / "templates" / "script").glob("*.js")
    return [round(sum(file.stat().st_size for file in files) / 1e3, -1).__format__(".0f")]


def _ratio_of_tolerances() -> list[object]:
    ratio = own_reference.TOLERANCE / TOLERANCES["fp32"]
    return [_power(own_reference.TOLERANCE), prints.in_words(ratio)]


def _layers() -> list[object]:
    return ["-".join(str(width) for width in DIGITS_WIDTHS)]


def _sizes(name: str) -> list[object]:
    model = models.get(name)
    macs = flops.count(model).macs
    parameters = f"{model.parameter_count / 1e6:.{3 if model.small else 1}f}"
    return [parameters, f"{macs / 1e6:.3f}" if model.small else f"{macs / 1e9:.2f}"]


_MODELS = {
    "mlp": "a published spam classifier | {} million | {} million MAC |",
    "resnet50": "the stride as in torchvision | {} million | {} billion MAC |",
    "bert": "as in transformers | {} million | {} billion MAC | All three",
    "mobilenet": "as in torchvision | {} million | {} billion MAC | | `vit`",
    "vit": "as in transformers | {} million | {} billion MAC | | `decoder`",
    "decoder": "[Touvron et al.](https://arxiv.org/abs/2307.09288), as in transformers | {} million | {} billion MAC |",
    "embedder": "[Reimers and Gurevych](https://arxiv.org/abs/1908.10084) | {} million | {} billion MAC |",
}
_FIVE = [prints.in_words(MIN_LAUNCHES)]
_LENGTHS = range(1 << padding.BITS)
_STEPS = [prints.in_words(recipe.STEPS)]

_LOWERED = [prints.in_words(parity.DRAWS_LOWERED), f"{parity.FACTOR_LOWERED:g}"]

_CONSTANTS: Sequence[tuple[str, str, Sequence[object]]] = (
    (MODELS, "eight layers of Llama, context {} |", [decoder.CONTEXT]),
    (MODELS, "of width {}, with eight heads", [decoder.HIDDEN]),
    (
        MODELS,
        "the vocabulary has {} tokens and the context {}.",
        [f"{decoder.VOCABULARY:,}", decoder.CONTEXT],
    ),
    (MODELS, "| `generate` | {} tokens that follow", [STEPS]),
    (MODELS, "`generate` compares all {} of them", [STEPS]),
    (UPGRADE, "calls `next` {} minutes after every boot", [prints.in_words(SETTLE_S / 60)]),
    (UPGRADE, "inside the margin (`--margin`, {} %)", [_percent(DEFAULT_MARGIN)]),
    (VERDICTS, "Over {} the result is *not equal*", [_power(TOLERANCES["fp32"])]),
    (VERDICTS, "Every backend is launched {} times or more", _FIVE),
    (VERDICTS, "Fewer than {} launches show numbers and no rank", _FIVE),
    ("docs/tutorial.md", "each backend is launched {} times or more", _FIVE),
    ("docs/tutorial.md", "`smoke` is {} launches of each backend", [prints.in_words(PROFILES["smoke"].generations)]),
    (TRAINING, "Before that, {} steps from the seeded weights", _STEPS),
    (TRAINING, "batches by seed, {} seeds or more", _FIVE),
    (VERSIONS, "Of the changes reported at most {} % are wrong", [_percent(DEFAULT_Q)]),
    (VERSIONS, "interval lies within ±{} %", [_percent(DEFAULT_MARGIN)]),
    (METHOD, "with the profile `standard` launches every arm {} times", _FIVE),
    (METHOD, "the half-width of its interval is at most {} %, or", [_percent(LEAD_PRECISION)]),
    (METHOD, "the race is over: {} s from the beginning", [PROFILES["standard"].race_seconds]),
    (METHOD, "no later than {} times that time", [prints.in_words(MOST_FIRST_PASSES)]),
    (METHOD, "both relative errors must be at most {}.", [_power(TOLERANCES["fp32"])]),
    (METHOD, "bf16 {}, int8 {},", [_power(TOLERANCES["bf16"]), _power(TOLERANCES["int8"])]),
    (METHOD, "whose error is {} times below its yardstick", [prints.in_words(honesty.LIKE)]),
    (METHOD, "calibrated on {} seeded inputs", [onnx_quantize.CALIBRATION_INPUTS]),
    (METHOD, "a launch takes {} steps, each with a seeded batch of its own", _STEPS),
    (METHOD, "makes, times {}, is the tolerance", [f"{parity.FACTOR:g}"]),
    (METHOD, "The largest error of {} draws, times {}, is the tolerance", _LOWERED),
    (METHOD, "with a random length of {} to {} bytes", [min(_LENGTHS), max(_LENGTHS)]),
    (
        METHOD,
        "{} times without padding and {} times with random padding, {} of either",
        [LAUNCHES, LAUNCHES, prints.in_words(TOGETHER)],
    ),
    (METHOD, "with the full rate, {} steps from random weights", _STEPS),
    (METHOD, "scikit-learn's {} handwritten digits", [digits.ITEMS]),
    (METHOD, "{} of them, always the same, are only tested with", [digits.TESTED]),
    (METHOD, "has grown so far after {} steps", _STEPS),
    (METHOD, "{} steps before the first, then forgotten", [prints.in_words(converging.WARM_STEPS)]),
    (METHOD, "{} images at the most;", [f"{own_images.MOST_IMAGES:,}"]),
    (METHOD, "of more than {} to test with, {} are drawn by name", [f"{own_images.MOST_TESTED:,}"] * 2),
    (METHOD, "each of {}×{} pixels", own_images.SHAPE[1:]),
    (METHOD, "taken from these images too ({} seeds)", [prints.in_words(convergence.OWN_SEEDS)]),
    (METHOD, "times the last cache, for {} s each", [roofline.BUDGET_NS / 1e9]),
    (METHOD, "bring the loss near zero within {} steps", _STEPS),
    (METHOD, "an interval against a margin ({} % by default)", [_percent(DEFAULT_MARGIN)]),
    (METHOD, "(Benjamini–Hochberg at {} %)", [_percent(DEFAULT_Q)]),
    ("docs/limits.md", "small networks on {} small images", [digits.ITEMS]),
    ("docs/gpu-verification.md", "the gate is {}, and such a launch would be refused", [_power(TOLERANCES["fp32"])]),
    (READING, "slowest takes more than {} times the fastest", [prints.in_words(axes.LOG_FROM)]),
    (READING, "one that is longer than {} times the median", [prints.in_words(axes.BROKEN_FROM)]),
    (READING, "from {} times its time on a multiple", [prints.in_words(units.MULTIPLE_FROM)]),
    (READING, "More than {} cases are divided by scenario", [prints.in_words(overview.MOST_COLUMNS)]),
    (READING, "The newest {} runs of a machine are compared in full", [prints.in_words(PAIRS)]),
    (READING, "A p90 needs {} calls, a p99 {}", [least_calls(each) for each in TAILS]),
    (READING, "the first batch that reaches {} % of that highest", [_percent(saturation.ENOUGH)]),
)


def _default_batches() -> list[object]:
    """Return those of the slow models, which are the same in ResNet-50, BERT and a user's own file."""
    (size,) = {PROFILES["standard"].batches[name] for name in ("resnet50", "bert", SIZED_AS)}
    return list(size)


FIGURES = [
    Figure("docs/choose.md", "by default of the MLP, {} at once", lambda: PROFILES["standard"].batches["mlp"]),
    Figure(METHOD, "of the MLP alone, in batches of {}", lambda: PROFILES["standard"].batches["mlp"]),
    Figure(METHOD, "by default of ResNet-50 and BERT in batches of {}", _default_batches),
    Figure("docs/weights.md", "Of a decoder's context {} positions are", lambda: [f"{llama.MOST_CONTEXT:,}"]),
    Figure("docs/weights.md", "headers of more than {} MiB", lambda: [safetensors_format.MOST_HEADER_BYTES >> 20]),
    Figure("docs/own-model.md", "A file of more than {} MiB is refused", lambda: [python_file.MOST_BYTES >> 20]),
    Figure("docs/own-model.md", "with that one: {} in", lambda: [_power(own_reference.TOLERANCE)]),
    Figure("docs/own-model.md", "then in batches of {} unless set otherwise", _default_batches),
    *(Figure(page, text, lambda values=values: values) for page, text, values in _CONSTANTS),  # type: ignore[misc]
    *(Figure(MODELS, text, partial(_sizes, name)) for name, text in _MODELS.items()),
    Figure(METHOD, "{} G for ResNet-50, {} G for BERT-base at {} tokens", _batches_of_macs),
    Figure(METHOD, "times {} as above. For the MLP that is {}. For the ResNet it is {}:", _sensitivities),
    Figure(
        METHOD,
        "off by {} and the gradient norms by {} of the MLP, {} and {} of ResNet-50, and {} and {} of BERT",
        _lowered_tolerances,
    ),
    Figure(METHOD, "an MLP {} with AdamW", _layers),
    Figure(READING, "about {} KB inside the file", _script_kilobytes),
    Figure(
        "docs/own-model.md",
        "tolerance in fp32 is {} (relative, ‖out − ref‖ ÷ ‖ref‖), {} times that",
        _ratio_of_tolerances,
    ),
]
