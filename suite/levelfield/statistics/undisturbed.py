"""Which rounds count: those that nothing disturbed from outside, where there are enough of them."""

from collections.abc import Sequence

from levelfield.statistics.student import MIN_LAUNCHES


def counted_rounds(disturbed: Sequence[Sequence[bool]]) -> list[list[bool]]:
    """Say of every round whether it counts.

    Disturbed rounds are left out. A generation that has no other is left out whole where enough generations have some:
    a launch that was only measured beside another program is worth less than none. Beside a process that took one of
    two CPUs half of the time, the standard deviation of a pair's log ratio fell from 21 % to 4 % (`studies/rigor`,
    `reports/trials/`). Where fewer than `MIN_LAUNCHES` generations are undisturbed, such a generation counts
    all the same, as the only thing there is.

    Whether a round is disturbed follows from outside signals, never by the timings; so what is left out does not depend
    on what it said.

    Parameters
    ----------
    disturbed
        For each generation, for each of its rounds; generations may have different numbers of rounds, or none.

    Returns
    -------
    list of list of bool
        In the same shape.
    """
    undisturbed = [[not each for each in generation] for generation in disturbed]
    if sum(map(any, undisturbed)) >= MIN_LAUNCHES:
        return undisturbed
    return [generation if any(generation) else [True] * len(generation) for generation in undisturbed]
