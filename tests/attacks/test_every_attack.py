"""Which test stands for which attack. Most lie beside what they attack; here is the whole list, and that they exist."""

import ast

import pytest

from tests.commands import ROOT

ATTACKS = {
    "a forged page": (
        "share/test_active_content.py::test_every_attack_is_broken_though_the_record_names_another_version",
        "share/test_active_content.py::test_no_forged_page_is_called_consistent",
        "share/test_data_blocks.py::test_a_signed_page_with_more_in_its_data_is_refused",
        "share/test_hostile_reports.py::test_a_script_put_into_a_page_is_found",
        "share/test_verify.py::test_a_changed_digit_of_the_page_is_found",
        "share/test_verify.py::test_a_figure_changed_in_a_page_by_another_version_is_named",
    ),
    "a page that keeps its reader busy": (
        "share/test_active_content.py::test_a_page_made_to_keep_its_reader_busy_does_not",
        "share/test_hostile_reports.py::test_a_bomb_inside_a_page_is_one_sentence_of_the_command",
        "share/test_hostile_reports.py::test_a_page_of_gigabytes_is_not_read",
        "cli/test_verify.py::test_what_takes_too_long_is_ended",
    ),
    "a forged signature or statement": (
        "share/test_verify.py::test_a_forgery_under_somebodys_signature_does_not_hold",
        "share/test_hostile_reports.py::test_a_statement_that_names_files_elsewhere_does_not_hold",
        "share/test_signing.py::test_every_changed_digit_of_a_signature_is_found",
    ),
    "a hostile record": (
        "record/test_corpus.py::test_each_is_one_sentence",
        "compare/test_hostile_records.py::test_a_changed_record_is_compared_or_refused",
        "share/test_hostile_reports.py::test_enormous_arrays_are_refused_inside_a_page_and_in_a_record",
        "analysis/test_guarded.py::test_every_command_that_reads_a_record_is_behind_it",
        "attacks/test_fuzzing.py::test_no_case_fails",
    ),
    "a file of another tool": (
        "imported/test_reading.py::test_damaged_files_become_a_record_or_one_sentence",
        "imported/test_reading.py::test_a_file_is_a_plain_one_of_bounded_size",
        "imported/test_decoding.py::test_whatever_it_is_it_is_one_sentence",
    ),
    "a record that chooses how it is run again": (
        "cli/test_reproduce.py::test_workers_run_in_containers_unless_the_user_says_less",
        "cli/test_reproduce.py::test_an_empty_list_of_images_does_not_open_the_gate",
        "run/reproduce/test_announcement.py::test_everything_it_asks_for_is_said",
    ),
    "a summary of somebody else's run": (
        "history/test_controls.py::test_what_was_copied_into_the_folder_does_not_count",
        "history/test_controls.py::test_a_ratio_that_no_run_has_does_not_count",
    ),
    "a fleet's folder": (
        "fleet/test_folders.py::test_links_are_named_and_not_followed",
        "fleet/test_reading.py::test_what_is_no_plain_file_is_refused_at_once",
        "fleet/test_gather.py::test_a_run_under_two_nodes_is_nobody_s",
        "fleet/test_hostile_fleets.py::test_a_changed_record_is_judged_or_named",
        "fleet/formats/test_html.py::test_a_report_is_linked_by_a_relative_address",
    ),
    "a bundle": (
        "images/test_bundle.py::test_nothing_gets_out_of_the_cache",
        "images/test_bundle.py::test_a_sparse_file_of_a_few_bytes_is_refused",
        "images/test_bundle.py::test_an_exported_model_that_is_there_is_never_replaced",
        "images/test_bundle.py::test_a_manifest_that_cannot_be_read_is_one_sentence",
    ),
    "a folder of weights": (
        "prepare/own_weights/test_folder.py::test_nothing_is_unpickled",
        "prepare/own_weights/test_folder.py::test_an_index_that_leaves_the_folder_is_refused",
        "prepare/own_weights/test_folder.py::test_a_link_to_elsewhere_is_refused",
        "prepare/evaluation/test_texts.py::test_no_link_leaves_the_folder_of_a_data_set",
        "prepare/own_model/test_store.py::test_a_link_beside_it_that_leaves_the_folder_is_not_read",
        "prepare/own_model/test_store.py::test_copies_are_no_more_public_than_what_was_given",
        "prepare/own_weights/test_folder.py::test_what_is_no_plain_file_is_refused",
        "prepare/own_weights/test_safetensors_format.py::test_a_damaged_file_is_refused",
        "prepare/own_weights/test_store.py::test_a_configuration_that_does_not_fit_is_refused",
    ),
    "a network in Python": (
        "prepare/own_model/test_python_file.py::test_it_is_described_and_not_run",
        "prepare/own_model/test_python_file.py::test_it_runs_in_containers_alone",
    ),
    "a file of advisories": (
        "images/test_advisories.py::test_a_file_that_holds_no_advisories_is_refused",
        "images/test_advisories.py::test_files_that_are_none_and_those_that_are_too_long_are_refused",
    ),
    "pipes, devices and links": (
        "safety/test_untrusted.py::test_what_is_no_plain_file_is_refused_at_once",
        "share/test_hostile_reports.py::test_links_pipes_and_devices_are_not_read",
        "attacks/test_hostile_folders.py::test_no_command_waits",
    ),
    "text for a terminal, a page, a comment or a spreadsheet": (
        "attacks/test_hostile_terminals.py::test_nothing_of_it_is_interpreted",
        "share/test_hostile_reports.py::test_scripts_in_every_field_are_text_and_the_page_holds",
        "report/test_browser.py",
        "safety/test_markdown.py::test_it_means_nothing_there",
        "report/export/test_tables.py",
    ),
    "a worker": (
        "launchers/test_docker.py::test_a_container_may_do_little",
        "launchers/test_docker.py::test_inside_a_container",
        "launchers/test_docker.py::test_output_without_end_suspends_no_time_limit",
        "launchers/test_docker.py::test_a_hang_ends_at_the_time_limit",
        "launchers/test_worker.py::test_an_endless_line",
        "launchers/test_credible.py::test_it_costs_the_worker_and_nobody_else",
        "launchers/test_credible.py::test_whatever_is_accepted_is_read_again",
        "schedule/test_lying_workers.py::test_every_lie_costs_its_own_case_only",
        "attacks/test_hostile_containers.py::test_one_that_forks_without_end",
        "attacks/test_hostile_containers.py::test_one_that_fills_its_disk",
        "attacks/test_hostile_containers.py::test_one_that_fills_the_disk_of_this_machine",
        "attacks/test_hostile_containers.py::test_one_that_lies",
        "schedule/test_window_rules.py",
    ),
    "another supervisor": (
        "record/test_journal.py::test_a_second_writer_is_refused_and_told_who_holds_the_run",
        "launchers/test_docker.py::test_a_sweep_takes_what_the_dead_left_and_nothing_else",
        "machine/test_owner.py::test_of_another_boot_or_namespace_nothing_is_known",
        "schedule/test_scratch.py::test_folders_of_others_and_links_are_not_touched",
        "schedule/test_scratch.py::test_the_home_of_a_killed_supervisors_worker_is_removed",
    ),
    "what is the user's own": (
        "launchers/test_docker.py::test_proxies_of_the_user_do_not_enter_a_worker",
        "cli/test_options.py::test_a_record_holds_no_folder_of_the_users",
        "images/test_clean.py::test_the_cache_is_emptied_and_what_is_not_ours_stays",
    ),
    "a command that means nothing": ("attacks/test_malformed_commands.py::test_it_ends_with_two_and_one_sentence",),
    "an option at its extremes": (
        "attacks/test_extreme_options.py::test_every_option_has_extremes",
        "attacks/test_extreme_options.py::test_an_extreme_is_refused_or_recorded",
    ),
    "a fault of the machine": (
        "faults/test_faults.py::test_a_run_killed_within_the_write_of_an_event",
        "run/test_bench_docker.py::test_a_disk_that_fills_up",
        "run/test_bench_docker.py::test_an_engine_that_stops_answering",
    ),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_there_is_a_test(attack: str) -> None:
    for name in ATTACKS[attack]:
        file, _, function = name.partition("::")
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        there = {each.name for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef)}
        assert not function or function in there, name
