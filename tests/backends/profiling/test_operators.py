"""An operator's own time is what is left when those that it calls are taken out."""

from hypothesis import given
from hypothesis import strategies as st

from levelfield.backends.profiling.operators import MAX_NAME_CHARS, Span, summed


def span(kind: str, begin_ns: float, end_ns: float, thread: str = "main", name: str = "") -> Span:
    return Span(kind, name, thread, begin_ns, end_ns)


def own(*spans: Span, calls: int = 1) -> dict[str, float]:
    return {each.kind: each.self_ns for each in summed(spans, calls)}


def test_what_lies_within_is_taken_out_once() -> None:
    found = own(span("linear", 0, 100), span("addmm", 10, 90), span("copy", 20, 30), span("relu", 100, 130))
    assert found == {"addmm": 70, "relu": 30, "linear": 20, "copy": 10}
    assert list(found) == ["addmm", "relu", "linear", "copy"], "the longest first"


def test_a_span_that_ends_after_the_one_around_it_takes_only_what_lies_in_it() -> None:
    assert own(span("outer", 0, 100), span("late", 90, 110)) == {"outer": 90, "late": 20}


def test_one_interruption_does_not_move_the_typical_call() -> None:
    calls = [span("conv", 1000 * call, 1000 * call + (10 if call != 3 else 900)) for call in range(7)]
    assert own(*calls, calls=7) == {"conv": 10}


def test_a_name_without_end_is_cut() -> None:
    (found,) = summed([span("k" * 10_000, 0, 1, name="n" * 10_000)], 1)
    assert (len(found.kind), len(found.name)) == (MAX_NAME_CHARS, MAX_NAME_CHARS)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(0, 50), st.sampled_from(("one", "two"))),
        max_size=30,
    )
)
def test_no_time_is_made_up(given_: list[tuple[str, int, int, str]]) -> None:
    spans = [span(kind, begin, begin + length, thread) for kind, begin, length, thread in given_]
    found = summed(spans, 1)
    assert all(each.self_ns >= 0 for each in found)
    assert sum(each.executions for each in found) == len(spans)
    # Of one thread, no more than the time that is covered by any span when they lie within one another.
    assert sum(each.self_ns for each in found) <= sum(each.end_ns - each.begin_ns for each in spans)
