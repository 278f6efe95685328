from levelfield.machine.doctor import examine
from levelfield.machine.findings import Needs


def test_this_machine_is_examined_with_a_fix_beside_all_that_is_not_well() -> None:
    findings = examine(Needs(wheels_missing_bytes=0))
    topics = {finding.topic for finding in findings}
    assert {"container engine", "wheels", "Python", "disk", "memory", "CPUs", "timer"} <= topics
    for finding in findings:
        assert finding.message.endswith(".")
        assert bool(finding.fix) == (finding.state != "ok")
