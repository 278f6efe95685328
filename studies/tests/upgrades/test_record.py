"""What the upgrade trial counts."""

from studies.tests.upgrades.trials import trial
from studies.upgrades import record as upgrades_record


def test_only_known_truths_are_counted() -> None:
    made = (trial("same", 1.0), trial("same", 1.2), trial("injected", 1.2), trial("injected", 1.0), trial("upgrade", 2))
    alarms, found = upgrades_record.findings(made)
    assert (alarms.by_trial.successes, alarms.by_trial.trials) == (1, 2)
    assert (alarms.by_decision.successes, alarms.by_decision.trials) == (2, 4)
    assert (found.by_trial.successes, found.by_trial.trials) == (1, 2)
    assert found.verdicts == {"slower": 2, "same": 2}
    assert found.seconds == 60.0
