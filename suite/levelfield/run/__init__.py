"""Commands that measure, step by step: plan, prepare, measure, report."""
