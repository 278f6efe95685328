"""Answers, trainings and tests of LoadGen, beside what is concluded of them, and tolerances beside the rules for them.

What an answer may be off by is held against the rules of this version.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from types import MappingProxyType

import msgspec

from levelfield.analysis.collect import launches
from levelfield.errors import one_line
from levelfield.record.schema import Absent, Block, Case, Launch, LoadGenTest, OwnFile, Parity, Run
from levelfield.zoo import models, parity, sensitivity
from levelfield.zoo.training import convergence, update
from levelfield.zoo.training import parity as training

CLOCKS_AGREE = 1.05
"""Of the clock of a worker, or of LoadGen."""
CENTRED = 2.5
"""How far a centred error could be over the tolerance below fp32, in records that do not say it."""
_CANARY = Case("canary", "latency", "fp32", 1, 1)
_OWN: Mapping[str, float] = MappingProxyType({"relative error": sensitivity.MOST_L2})
_AGREE = 1e-6
"""What is computed again, from the same numbers, by another library of matrices."""


def of(block: Block, launch: Launch, *, own: bool) -> Iterator[str]:
    """Yield what its errors, tolerances and tests of LoadGen do not say; `own`: of a user's own file."""
    for found in filter(None, (launch.parity, launch.parity_after)):
        case, of_own = (_CANARY, False) if launch.arm == block.canary else (block.case, own)
        wrong = list(_errors(found, case.precision, own=of_own)) if found.equal else []
        if found.equal and found.computed_in not in {"", case.precision}:
            wrong.append(f"it is equal, computed in {one_line(found.computed_in)}")
        mostly = launch.computed.mostly if launch.computed is not None else ""
        if found.equal and case.precision == "fp32" and mostly not in {"", "fp32", "fp64"}:
            wrong.append(f"it is equal in fp32, with products in {one_line(mostly)}")
        wrong += _by_rules(found, case, own=of_own)
        wrong += list(_out_of_range(found))
        wrong += ["it is not equal, for no reason"] if not found.equal and not found.reason else []
        yield from (f"the answer of {one_line(launch.arm)}: {said}" for said in wrong)
    if launch.parity and launch.parity_after and launch.parity.equal and not launch.parity_after.equal:
        yield f"the answer of {one_line(launch.arm)} is equal, and was not after its windows"
    driven = launch.loadgen
    for test in driven.tests if driven is not None else ():
        if test.valid == bool(test.why_invalid):
            yield f"a test of {one_line(launch.arm)} that is valid and invalid"
        if driven is None or driven.scenario != block.case.definition.driven_as:
            yield f"a test of {one_line(launch.arm)} in another scenario"
        elif unlike := ", ".join(dict.fromkeys(_unlike_loadgen(test, driven.scenario, driven.target_ns))):
            yield f"a test of {one_line(launch.arm)} of which LoadGen cannot have said: {one_line(unlike)}"


def _unlike_loadgen(test: LoadGenTest, scenario: str, target_ns: int | None) -> Iterator[str]:
    """Yield what is not in LoadGen's text, which has rates of six digits and no verdict on few queries, or in none."""
    pairs = (line.partition(":")[::2] for line in test.summary.splitlines()[:-1])
    said = {name.strip(): value.strip() for name, value in pairs}
    known = {f"{name} percentile latency (ns)": str(value) for name, value in test.percentiles_ns.items()}
    known |= {"Scenario": scenario} | ({} if target_ns is None else {"target_latency (ns)": str(target_ns)})
    if test.valid or said.get("Min queries satisfied") == "Yes":
        known["Result is"] = "VALID" if test.valid else "INVALID"
    yield from (name for name, value in known.items() if said.get(name, value) != value)
    for name, rate in (("Samples per second", test.per_second), ("target_qps", test.offered_per_second)):
        if isinstance(rate, float) and not math.isclose(float(said.get(name, rate)), rate, rel_tol=1e-4):
            yield name
    if test.queries > test.samples or (scenario in {"SingleStream", "Server"} and test.queries < test.samples):
        yield "samples"
    ordered = sorted(test.percentiles_ns.items(), key=lambda each: float(each[0]))
    behind = [(time_ns, test.queries - int(test.queries * float(name) / 100)) for name, time_ns in ordered]
    if any(first > second for (first, _), (second, _) in itertools.pairwise(behind)):
        yield "percentiles out of order"
    took_ns = [each * (n if scenario in {"SingleStream", "MultiStream"} else 1) for each, n in behind]
    took_ns += [round(1e9 * (test.samples - 1) / test.per_second)] if isinstance(test.per_second, float) else []
    if max(took_ns, default=0) > CLOCKS_AGREE * test.elapsed_ns:
        yield "elapsed time"
    if isinstance(late := test.late, int) and target_ns is not None:
        yield from ("late" for each, n in behind if (late < n - 1 if each > target_ns else late > n))


def trained(run: Run, block: Block) -> Iterator[str]:
    """Yield what no training to a target can have given."""
    known = [(at.index, launch.convergence) for at, launch in launches(block) if launch.convergence is not None]
    begun = {(index, each.seed, each.weights_sha256, each.inputs_sha256) for index, each in known}
    if any(seed != index for index, seed, *_ in begun) or len(begun) > len({index for index, _ in known}):
        yield "trainings that began otherwise than their generation's seed says"
    goals = {(each.network, each.limit, each.target) for _, each in known}
    if len(goals) > 1 or any(target != (run.settings.target or target) for *_, target in goals):
        yield "trainings with different targets"
    for _, each in known:
        taken = [(point.step, point.elapsed_ns, point.accuracy) for point in each.points]
        pairs = itertools.pairwise([(0, 0, 0.0), *taken, (each.limit + 1, math.inf, each.target)])
        if not all(a[0] < b[0] and a[1] < b[1] and 0 <= b[2] <= 1 for a, b in pairs):
            yield "evaluations that no training has"


def _out_of_range(parity: Parity) -> Iterator[str]:
    """Yield what no comparison of two outputs gives; the cosine of those whose distance is e is √(1 - e²) at least."""
    near = 1 - parity.tolerance if parity.equal and parity.tolerance < 1 else -1.0
    for what, value, least, most in (
        ("a cosine", parity.cosine, near, 1.0),
        ("a share", parity.top_1, 0.0, 1.0),
        ("an error", parity.max_abs_error, 0.0, math.inf),
    ):
        if isinstance(value, float) and not least - _AGREE <= value <= most + _AGREE:
            yield f"{what} of {value:.1e}"


def _errors(parity: Parity, precision: str, *, own: bool) -> Iterator[str]:
    """Yield why an answer that is called equal is not; of a user's `own` file numbers may move beyond their size."""
    if parity.inputs < 1:
        yield "it is equal, of no inputs"
    if parity.reason or isinstance(parity.relative_error, Absent):
        yield "it is equal, and says why it is not"
    centred: float | Absent = parity.centred_tolerance if own else parity.tolerance
    if precision != "fp32" and not own:
        recorded = parity.centred_tolerance
        centred = parity.tolerance * CENTRED if isinstance(recorded, Absent) else recorded
    checked: list[tuple[str, float | Absent, float | Absent, float]] = [
        ("relative error", parity.relative_error, parity.tolerance, 1.0),
        ("centred error", parity.centred_error, centred, 1.0),
        ("largest error of a number", parity.element_error, parity.element_tolerance, math.inf if own else 1.0),
    ]
    if parity.training is not None:
        errors, tolerances = map(msgspec.structs.asdict, (parity.training.errors, parity.training.tolerances))
        checked += [(f"training error of the {name}", errors[name], tolerances[name], 1.0) for name in errors]
    for what, error, limit, most in checked:
        if isinstance(error, float) and isinstance(limit, float) and not 0 <= error <= limit < most:
            yield f"it is equal with a {what} of {error:.1e}, where {limit:.1e} are allowed"


def of_data_sets(run: Run) -> Iterator[str]:
    """Yield what is said of answers to data sets, and neither they nor their labels show."""
    labels = {(each.task, each.model): each.labels for each in run.data_sets}
    arms = {arm.id for block in run.blocks for arm in block.arms}
    alike: dict[object, object] = {}
    for found in run.accuracies:
        true = labels.get((found.task, found.model), ())
        named, given = f"answers of {one_line(found.arm)} to {one_line(found.task)}", found.right
        judged = found.right, found.shares
        if found.arm not in arms:
            yield f"{named}, an arm that no case has"
        if found.answers and alike.setdefault((found.task, found.model, found.answers), judged) != judged:
            yield f"{named} that are those of another arm, and are judged otherwise"
        if any(not 0 <= share <= 1 for shares in found.shares.values() for share in shares):
            yield f"{named} of which more is right than all, or less than nothing"
        if any(map(float.__gt__, map(float, given.get("exact match", ())), found.shares.get("F1 of words", ()))):
            yield f"{named} that match exactly, and not word by word"
        first, near = given.get("top-1", ()), given.get("top-5", ())
        if {*itertools.chain(*given.values())} - {0, 1} or any(map(int.__gt__, first, near)):
            yield f"{named} that are neither right nor wrong, or right and not among the first five"
        if not true and given.keys() & {"top-1", "top-5", "accuracy"}:
            yield f"{named} that are called right without labels"
        for metric in ("top-1", "accuracy"):
            right = tuple(int(answer == label) for answer, label in zip(found.answers, true, strict=False))
            if right and given.get(metric, right) != right:
                yield f"{named} that are called right otherwise"


def differ(block: Block, own: OwnFile | None) -> bool:
    """Whether arms that answer the same are judged by different tolerances.

    Of a user's own file with several outputs, the worst output's are recorded.
    """
    if own is not None and len(own.outputs) != 1:
        return False
    judged = (
        each
        for generation in block.generations
        for launch in generation.launches
        for each in (launch.parity, launch.parity_after)
        if each is not None and each.equal and launch.arm != block.canary
    )
    first, *others = [_said(each) for each in judged] or [{}]
    pairs = ((said, each.get(what, math.inf)) for each in others for what, said in first.items())
    return not all(math.isclose(*pair, rel_tol=_AGREE) for pair in pairs)


def _by_rules(found: Parity, case: Case, *, own: bool) -> Iterator[str]:
    """Yield which of an answer's tolerances no rule gives.

    `own`: whether it is of a user's own file, whose tolerances follow from how far its reference moves.
    """
    known = _OWN if own else _of_zoo(case.precision)
    if case.learns:
        known = _of_training(case.model, case.precision, to_target=case.converges)
    for what, said in _said(found).items():
        most = known.get(what, math.inf)
        if not 0 <= said <= most * (1 + _AGREE) and said < math.inf:
            yield f"{said:.1e} allowed for its {what}, where the rules allow {most:.1e} at the most"


def _said(found: Parity) -> Mapping[str, float]:
    """Return the tolerances of each error; infinite, as no record has one, where there is none."""
    said = {
        "relative error": found.tolerance,
        "centred error": found.centred_tolerance,
        "largest error of a number": found.element_tolerance,
    }
    if found.training is not None:
        of_training = msgspec.structs.asdict(found.training.tolerances)
        said |= {f"training error of the {kind}": each for kind, each in of_training.items()}
    return {what: each if isinstance(each, float) else math.inf for what, each in said.items()}


def _of_zoo(precision: str) -> Mapping[str, float]:
    plain = parity.TOLERANCES.get(precision, max(parity.TOLERANCES.values()))
    centred = plain if precision == training.FP32 else max(plain, parity.MOST)
    return {"relative error": plain, "centred error": centred, "largest error of a number": parity.MOST}


@functools.lru_cache(maxsize=64)
def _of_training(model: str, precision: str, *, to_target: bool) -> Mapping[str, float]:
    known: dict[str, float | None]
    try:
        if to_target:
            goal = convergence.goal(model)
            network, rule = goal.network, goal.optimizer
            known = {"losses": training.allowed(convergence.sensitivities(goal)[precision], precision)}
        else:
            network, rule = model, models.recipe(model).optimizer
            known = msgspec.structs.asdict(training.tolerances(model, precision))
    except (LookupError, ValueError):  # a model or a precision that this version does not train
        return {}
    known["update"] = update.tolerance(models.get(network), rule)
    named = {f"training error of the {kind}": most for kind, most in known.items() if most is not None}
    return {"relative error": named["training error of the losses"], **named}
