"""Each statement of docs/security.md has a test, which is named here and is there."""

import re

import pytest

from tests.commands import ROOT

DOCKER, ATTACKS, SHARE = "tests/launchers/test_docker.py", "tests/attacks/test_", "tests/share/test_"
IMAGES, OWN = "tests/images/test_", "tests/prepare/own_model/test_"
TESTS = {
    "This checkout": f"{IMAGES}wheels.py::test_a_wheel_changed_in_the_cache_stops_with_file_expected_and_found",
    "Installed plug-ins": "tests/run/test_reproduce.py::test_an_arm_that_only_the_results_name_brings_no_image",
    "The container engine": f"{DOCKER}::test_a_container_may_do_little",
    "Your own command line": "tests/launchers/test_host.py::test_nothing_of_the_users_own_is_passed_on",
    "Workers": f"{ATTACKS}hostile_containers.py::test_one_that_tries_to_escape",
    "Files of others": f"{ATTACKS}hostile_links.py::test_no_command_writes_or_publishes_what_a_link_leads_to",
    "Texts of others": "tests/test_errors.py::test_no_character_that_is_not_seen_is_printable",
    "levelfield.toml": "tests/cli/test_config.py::test_a_file_sets_what_is_measured_and_no_other_option_of_any_command",
    "verify": "tests/compare/test_contradictions.py::test_a_contradiction_is_named",
    "report": "tests/test_untrusted.py::test_a_record_is_no_link_out_of_its_run",
    "import": "plugins/readers/tests/test_importing.py::test_damaged_files_become_a_record_or_one_sentence",
    "fleet gather": "plugins/fleet/tests/fleet/test_hostile_fleets.py::test_a_changed_record_is_judged_or_named",
    "history": "tests/analysis/test_summaries.py::test_what_was_copied_into_the_folder_does_not_count",
    "reproduce": "tests/cli/test_reproduce.py::test_workers_run_in_containers_unless_the_user_says_less",
    "bench --resume": f"{ATTACKS}hostile_folders.py::test_no_command_waits",
    "bench --model FILE.onnx": f"{OWN}store.py::test_copies_are_their_owners_alone",
    "bench --model FOLDER": "tests/prepare/own_weights/test_folder.py::test_nothing_is_unpickled",
    "bench --model FILE.py": f"{OWN}python_file.py::test_it_is_described_and_not_run",
    "bench --data": "plugins/datasets/tests/test_data_files.py::test_no_link_leaves_the_folder_of_a_data_set",
    "fleet run": "plugins/fleet/tests/fleet/run/test_messages.py::test_what_is_no_reply_is_refused",
    "images build": f"{IMAGES}published.py::test_a_forged_image_is_refused_and_not_kept",
    "images load": f"{IMAGES}bundle.py::test_what_no_lock_names_is_left_out_whatever_it_holds",
    "A report that was invented": f"{SHARE}verify.py::test_a_folder_a_page_alone_and_a_record_alone_hold",
    "Another packing": f"{SHARE}data_blocks.py::test_nothing_but_the_record_is_packed",
    "Letters that look alike": "tests/test_errors.py::test_no_character_that_is_not_seen_is_printable",
    "A worker in a virtual machine": f"{ATTACKS}hostile_containers.py::test_one_that_tries_to_escape",
    "A worker that is slower": "tests/schedule/test_lying_workers.py::test_every_lie_costs_its_own_case_only",
    "A worker that fills": f"{ATTACKS}hostile_containers.py::test_one_that_fills_the_disk_of_this_machine",
    "A hole": f"{ATTACKS}hostile_containers.py::test_one_that_tries_to_escape",
}


def statements() -> list[str]:
    text = (ROOT / "docs" / "security.md").read_text().partition("## How it is held")[0]
    return [
        each.replace("*", "").replace("`", "")
        for each in re.findall(r"^(?:- |\| )(?!command|---)(.+)", text, re.MULTILINE)
    ]


def test_every_statement_has_a_test() -> None:
    found = statements()
    assert len(found) == len(TESTS)
    for statement, beginning in zip(found, TESTS, strict=True):
        assert statement.startswith(beginning)


@pytest.mark.parametrize("test", sorted(set(TESTS.values())))
def test_it_is_there(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"\ndef {name}(" in (ROOT / file).read_text()
