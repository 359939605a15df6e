# Every target does its own set-up. Recipes are one line each; what takes more stands in scripts/.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help bench test faults lint check docs golden setup engine engine-stop images recorded chromium compose relock clean

PYTHON ?= python3
export PYTHON
py := .venv/bin/python

# Passed on to pytest by `make test`, as in: make test PYTEST="tests/docker -k pod"
PYTEST ?=
# Parts that `make faults` runs, as in: make faults FAULTS="clients killed"; all of them by default.
FAULTS ?=
# Studies that `make bench` runs, in this order.
STUDIES ?= corpora/fixture/study.toml corpora/retrieval/study.toml corpora/reconsolidation/study.toml

help: ## this screen
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

bench: ## build the images, run each study of ours, verify it, write its report
	@scripts/bench.sh $(STUDIES)

test: ## every test, those with real containers too
	@scripts/test.sh $(PYTEST)

faults: ## every fault scenario in containers, against what is expected
	@scripts/faults.sh $(FAULTS)

lint: setup ## format, lint, types and import contracts
	@scripts/lint.sh

check: lint recorded test ## lint, images as recorded, and test: what CI runs

docs: setup ## write docs/reference/cli.md from the program's own help
	@$(py) scripts/cli_reference.py

golden: setup ## make the golden files of tests/golden again
	@scripts/golden.sh

setup: ## .venv with the pinned packages and the program
	@scripts/setup.sh

engine: ## a container engine answers: the machine's own, or a private one
	@scripts/engine.sh start

engine-stop: ## end the private engine; its images stay
	@scripts/engine.sh stop

images: setup engine ## build the images that pods are made of
	@.venv/bin/pairbench images build

recorded: setup ## hold the images against the digests in images/locks
	@.venv/bin/pairbench images check

chromium: ## Chromium for the tests that look at a report (as root, Debian)
	@scripts/chromium.sh

compose: ## docker-compose for the tests that make attempts again by hand (as root, Debian)
	@scripts/compose.sh

relock: ## resolve requirements/ and images/locks afresh
	@scripts/relock.sh

clean: ## remove .venv, .cache and the private engine; runs/ stays
	@scripts/clean.sh
