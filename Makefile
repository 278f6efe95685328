# The front door: `make bench`, `make test`, … make a private tool environment in .venv and call the nox session of that
# name. Options are passed on: make bench ARGS="--profile smoke".

PYTHON ?= python3
ARGS ?=
NOX := .venv/bin/nox
LOCK := images/tool/nox.lock

.PHONY: bench compare test lint build lock clean help

help:
	@echo 'make bench    measure, compare and report (ARGS="--profile smoke" passes options on)'
	@echo 'make compare  say what got worse between runs: make compare ARGS="OLD NEW"'
	@echo 'make test     run the tests (ARGS=all: every test; ARGS="all 1/4": a quarter of them)'
	@echo 'make lint     check format, style, types and spelling'
	@echo 'make build    build all images (bench builds what it needs by itself)'
	@echo 'make lock     resolve all requirement sets again'
	@echo 'make clean    remove the tool environments; `levelfield images clean` gives images and caches back'

bench compare lint build lock: .venv/ready
	$(NOX) -s $@ -- $(ARGS)

test: .venv/ready
	$(NOX) -s tests -- $(ARGS)

.venv/ready: $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo 'levelfield needs Python 3.11, 3.12 or 3.13: make bench PYTHON=python3.11'; exit 1; }
	@$(PYTHON) -m venv --clear .venv || \
		{ echo 'Python cannot make environments here: apt-get install python3-venv'; exit 1; }
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes --requirement $(LOCK)
	@touch $@

clean:
	rm -rf .venv .nox
