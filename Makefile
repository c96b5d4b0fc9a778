# make run and make test, each complete: what they need goes into .venv, once. All paths are relative, so a
# checkout under a path with blanks works too.

PY := .venv/bin/python
.DELETE_ON_ERROR:
.PHONY: help run test check families format clean screenshots pictures record api bench

help:
	@echo "make run       start the page; flags go in ARGS, as in  make run ARGS='--port 8000'"
	@echo "make test      lint, types, import rules and all tests; ARGS goes to pytest, as in  make test ARGS='-k mask'"
	@echo "               tests marked slow are left out; make test ARGS='-m \"slow or not slow\"' runs all"
	@echo "make check     the same without the tests"
	@echo "make families  what is shown exactly, what is refused and why: families of decoders, vocabularies, damaged folders"
	@echo "make screenshots  pictures of every page and step, into screenshots/"
	@echo "make pictures  the README's pictures, one a page, into docs/pictures/"
	@echo "make record    the first pictures anew, for ARGS='nano smollm2-135m'"
	@echo "make api       docs/api.md anew, from the endpoints"
	@echo "make bench     every performance figure, into bench/RESULTS.md; ARGS=--quick only shows that it works"
	@echo "make format    let ruff, ESLint and Prettier format and mend"
	@echo "make clean     remove .venv, node_modules and the caches"
	@echo "PYTHON=…       the Python that .venv is made from; CHROMIUM=…  the browser of the tests"
	@echo "TORCH_INDEX=…  where PyTorch's CPU build comes from on Linux without a GPU; none: from pip's own index"

run: .venv/.app
	@exec $(PY) app.py $(ARGS)

check: .venv/.dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	.venv/bin/lint-imports --no-logo
	@sh tools/node.sh

# Two processes, each with its own models, app and browser; the tests of one file stay together.
test: check
	@CHROMIUM="$$(sh tools/chromium.sh)" && export CHROMIUM && $(PY) -m pytest -n 2 --dist loadfile -m "not slow" $(ARGS)

families: .venv/.dev
	@$(PY) -m tests.odd

screenshots: .venv/.dev
	@CHROMIUM="$$(sh tools/chromium.sh)" && export CHROMIUM && $(PY) -m tools.screenshots $(ARGS)

pictures: .venv/.dev
	@CHROMIUM="$$(sh tools/chromium.sh)" && export CHROMIUM && $(PY) -m tools.screenshots --readme $(ARGS)

record: .venv/.dev
	@CHROMIUM="$$(sh tools/chromium.sh)" && export CHROMIUM && $(PY) -m tools.record $(ARGS)

bench: .venv/.bench
	@CHROMIUM="$$(sh tools/chromium.sh)" && export CHROMIUM && $(PY) -m bench --results bench/RESULTS.md --out bench/results.json $(ARGS)

api: .venv/.dev
	@$(PY) -m tools.api

format: .venv/.dev
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	@sh tools/node.sh mend

clean:
	rm -rf .venv node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# Each stamp is touched only after its step went through, so that an interrupted one is done again.
.venv/.made:
	@python="$$(sh tools/python.sh)" && "$$python" -m venv .venv
	@touch $@

.venv/.app: requirements.txt .venv/.made
	@sh tools/torch.sh $(PY)
	$(PY) -m pip install --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/.dev: requirements-dev.txt .venv/.app
	$(PY) -m pip install -q --disable-pip-version-check -r requirements-dev.txt
	@touch $@

.venv/.bench: requirements-bench.txt .venv/.dev
	$(PY) -m pip install -q --disable-pip-version-check -r requirements-bench.txt
	@touch $@
