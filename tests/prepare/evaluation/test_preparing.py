from levelfield.prepare.evaluation import preparing


def test_a_smaller_choice_lies_within_a_larger_one() -> None:
    names = [f"{number:05}.JPEG" for number in range(500)]
    few, many = (set(preparing.drawn(names, most)) for most in (20, 100))
    assert len(few) == 20
    assert few < many
    assert preparing.drawn(names, None) == preparing.drawn(names, 500) == tuple(range(500))
    assert list(preparing.drawn(names, 20)) == sorted(few)
    # Spread over all of them, and not the first.
    assert max(few) > 400
