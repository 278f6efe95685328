import pytest

from suite.errors import LevelfieldError
from suite.fieldtools import nccl_tests
from suite.record.schema import Absent, FieldOutput
from tests.fieldtools.recorded import content

NEWER = content("nccl-tests-2.18.2-2x-gh200.log")


def values(found: FieldOutput, measure: str) -> dict[str, object]:
    return {each.at: each.value for each in found.readings if each.measure == measure}


def test_a_newer_output_names_itself() -> None:
    found = nccl_tests.parse(NEWER)
    assert (found.version, found.facts["NCCL"], found.facts["ranks"]) == ("2.18.2", "23007", 2)
    assert found.facts["GPUs"] == "NVIDIA GH200 120GB"
    assert str(found.facts["settings"]).startswith("nThread 1 nGpus 1 minBytes 1048576")
    bandwidths = values(found, "all_reduce_perf out-of-place bus bandwidth")
    assert len(bandwidths) == 8
    assert bandwidths["134217728 bytes, float sum -1"] == 22860000000.0
    assert values(found, "all_reduce_perf in-place time")["1048576 bytes, float sum -1"] == 335850.0
    assert set(values(found, "all_reduce_perf in-place wrong values").values()) == {0.0}


def test_no_host_is_kept() -> None:
    assert "nid00" not in str(nccl_tests.parse(NEWER))


def test_an_older_output_has_other_columns_and_lines_of_nccl_among_them() -> None:
    found = nccl_tests.parse(content("nccl-tests-allreduce-8x-a100.log"))
    assert found.version == Absent("this output does not say")
    assert (found.facts["ranks"], found.facts["GPUs"]) == (8, "A100-SXM4-40GB")
    bandwidths = values(found, "in-place bus bandwidth")
    assert len(bandwidths) == 32  # of 34 lines, two are of no bytes
    assert bandwidths["8589934592 bytes, float sum"] == 235030000000.0
    assert set(values(found, "in-place largest error").values()) == {Absent("the tool says N/A")}


def test_a_collective_without_a_reduction_is_read() -> None:
    found = nccl_tests.parse(content("nccl-tests-alltoall-8x-a100.log"))
    assert values(found, "in-place bus bandwidth")["8589934592 bytes, float"] == 226160000000.0


def test_the_output_that_mpirun_marks_is_the_same() -> None:
    marked = b"".join(b"[1,0]<stdout>:" + line for line in NEWER.splitlines(keepends=True))
    assert nccl_tests.parse(marked).readings == nccl_tests.parse(NEWER).readings


@pytest.mark.parametrize(
    ("spoiled", "says"),
    [
        (NEWER[: NEWER.index(b"     1048576")], "holds no line of results"),
        (b"busbw\n1 2 3", "holds no line of results"),
        (NEWER.replace(b"(us)", b"(ms)"), "other units"),
        (b"#       size time busbw", "other units"),
        (b"# size count type time busbw\n# (us) (GB/s)\n" + b"9" * 9000 + b" 1 float 1", "holds no line of results"),
    ],
)
def test_other_output_is_one_sentence(spoiled: bytes, says: str) -> None:
    with pytest.raises(LevelfieldError, match=says):
        nccl_tests.parse(spoiled)


def test_a_line_that_was_cut_is_left_out() -> None:
    cut = NEWER[: NEWER.index(b"5871.07") + 4]
    assert len(nccl_tests.parse(cut).readings) == 7 * 6
