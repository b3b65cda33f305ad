# Start with `make sandbox` and `make test`; `make help` lists the other commands.
VENV := .venv
PY := $(VENV)/bin/python
PYTHON := python3
# The folder of the locked packages. `.ci/django-6.1` sets these three, to try the service on Django 6.1.
LOCKED := requirements
PORT ?= 8000
export PORT

# Keep compiled modules, because compiling the tests takes longer than running most of them.
export PYTHONDONTWRITEBYTECODE :=
# Tests run in two processes more than there are cores (`quick`: in as many), each with its own database.
PYTEST := $(PY) -m pytest -n $(or $(WORKERS),auto)

.PHONY: help sandbox install test test-postgresql test-sqlite containers quick presentations lint format lock bench drill screenshots texts fuzz mutants attacks products clients sbom clean

# Installs one of the locked files. pip prints nothing for minutes, so this prints what it does and how long it takes.
takes_production := about a minute, or three with a slow connection
takes_sandbox := a few seconds
takes_development := one to three minutes
define install
@echo "Installing $$(grep -c '^[a-z0-9].*==' $(LOCKED)/$(1).txt) packages of $(LOCKED)/$(1).txt into $(VENV), each checked against its hash."
@echo "This takes $(takes_$(1)), and happens only once …"
@began=$$(date +%s); $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCKED)/$(1).txt \
  || { echo "The packages could not be installed; pip says why above. Try again with the same command."; exit 1; }; \
  echo "Installed in $$(($$(date +%s) - began)) seconds."
@touch $(VENV)/$(1)
endef

help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(VENV)/production: $(LOCKED)/production.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version) if sys.version_info < (3, 11) else None'
	@test -x $(PY) || { echo "Making a virtual environment in $(VENV) …"; $(PYTHON) -m venv $(VENV); } \
	  || { echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv"; exit 1; }
	$(call install,production)

$(VENV)/sandbox $(VENV)/development: $(VENV)/%: $(LOCKED)/%.txt | $(VENV)/production
	$(call install,$*)

PACKAGES := tests/node/node_modules tools/benchmarks/node/node_modules
$(PACKAGES): %/node_modules: %/package-lock.json
	@if command -v npm >/dev/null; then cd $* && npm ci --silent --no-progress && touch node_modules; \
	 else echo "npm is not installed: tests that need the packages of $* will be listed as not run"; fi

sandbox: $(VENV)/sandbox ## run the sandbox on http://localhost:8000 (PORT= changes it, FRESH=1 starts over)
	@echo "Preparing the database, the keys and the demo relying parties (a few seconds) …"
	@ENVIRONMENT=sandbox exec $(PY) manage.py sandbox $(if $(FRESH),--fresh)

install: $(VENV)/development $(PACKAGES)

test: install ## run every test but those of containers: on PostgreSQL, with Chromium and npm where installed, and on SQLite what can differ there
	@.ci/parts "SQLite=$(MAKE) --no-print-directory test-sqlite" "PostgreSQL=$(MAKE) --no-print-directory test-postgresql"

test-postgresql: install
	$(PYTEST) -m "not docker"

containers: install ## build compose.yaml's images, start them and try them (needs Docker; minutes)
	$(PYTEST) -n 0 -m docker tests/test_compose.py

# The tests of `quick` whose modules run SQL of their own or complete requests.
test-sqlite: QUICK := sqlite
test-sqlite quick: install
	QUICK=$(or $(QUICK),1) DATABASE_URL=sqlite:///$${TMPDIR:-/tmp}/presentation-tests.sqlite3 $(PYTEST)
quick: ## what to run while editing, within a minute: SQLite in memory, no browsers, no other programs

# Requests from their first to their last step, the statements for them, the consent pages, and keys that rotate.
presentations: install
	$(PYTEST) tests/presentation/requests tests/presentation/test_fast_path.py tests/consent \
	  tests/keys/test_rotation.py tests/keys/test_rotation_races.py

ESLINT := tests/node/node_modules/.bin/eslint
# mypy and makemigrations read the settings.
lint: export ENVIRONMENT := sandbox
lint: install ## messages of commits, ruff, mypy, djlint, ESLint, missing migrations, Django's deployment checks, translations
	$(PY) -m tools.commit_messages
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/djlint --lint --quiet templates */templates
	@if [ -x $(ESLINT) ]; then echo "$(ESLINT) (JavaScript and CSS)"; $(ESLINT) --config tests/node/eslint.config.js .; \
	 else echo "npm is not installed: JavaScript and CSS are not linted"; test -z "$$REQUIRE_EVERYTHING"; fi
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -m tests.deployment_check
	@if command -v xgettext >/dev/null; then echo "$(PY) -m tools.texts --check"; $(PY) -m tools.texts --check; \
	 else echo "gettext is not installed: the translations are not checked"; test -z "$$REQUIRE_EVERYTHING"; fi

format: $(VENV)/development ## let ruff format and sort
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

# Resolves one of requirements/*.in for a version of Python into a folder. The other sets keep the versions that the
# service has.
define resolve
var/lock/bin/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url --no-header --python-version $(2) \
  $(if $(filter-out production,$(1)),--constraints $(3)/production.txt) --output-file $(3)/$(1).txt requirements/$(1).in

endef
# The products of `make products`, each for every version of Python.
PRODUCTS := tools/products/environments
define resolve_product
var/lock/bin/uv pip compile --quiet --upgrade --universal --generate-hashes --no-emit-index-url --no-header \
  --python-version 3.11 --output-file $(1:.in=.txt) $(1)

endef
SETS := production sandbox hsm development
lock: $(VENV)/production ## resolve requirements/*.in again into the hashed *.txt, for both releases of Django, and those of the products
	@test -x var/lock/bin/uv || { python3 -m venv var/lock && var/lock/bin/pip install --quiet --disable-pip-version-check uv; }
	$(foreach set,$(SETS),$(call resolve,$(set),3.11,requirements))
	$(foreach set,$(SETS),$(call resolve,$(set),3.12,requirements/django-6.1))
	$(foreach set,$(wildcard $(PRODUCTS)/*.in),$(call resolve_product,$(set)))

texts: $(VENV)/development ## extract the texts for people anew and compile their translations (needs gettext)
	$(PY) -m tools.texts

screenshots: $(VENV)/development ## take the pictures of docs/screenshots again
	$(PY) -m tools.screenshots

# Where there is Debian's Python, which README names, everything is measured on it: others may be built without
# optimisations. It needs python3-venv.
DEBIAN_PYTHON := $(shell /usr/bin/python3 -c 'import ensurepip, sys; sys.version_info < (3, 11) or print(sys.executable)' 2>/dev/null)
BENCH := $(if $(DEBIAN_PYTHON),var/bench,$(VENV))
var/bench/development: requirements/development.txt
	$(DEBIAN_PYTHON) -m venv var/bench
	var/bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

bench: $(BENCH)/development tools/benchmarks/node/node_modules ## compare speed with public implementations, as ratios (SHORT=1 is a trial)
	$(BENCH)/bin/python -m tools.benchmarks $(if $(SHORT),--short)

drill: $(VENV)/development ## break one part of a running installation after the other (LIST=1 lists the drills, NAMES= chooses, WRITE=1 writes docs/faults.md, SHORT=1 is a trial)
	$(PY) -m tools.drills $(NAMES) $(if $(LIST),--list) $(if $(WRITE),--write) $(if $(SHORT),--short)

fuzz: $(VENV)/development ## send malformed requests to every address (COUNT=200000; SEED= repeats a run)
	$(PY) -m tools.fuzz $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

mutants: $(VENV)/development ## break each security check in a copy; a test must fail (needs PostgreSQL; NAME=jti or PROMISES="P1 P2" tries some, RANDOM=20 draws some that no table has, SEED= the same again)
	$(PY) -m tools.mutants $(NAME) $(if $(PROMISES),--promises $(PROMISES)) $(if $(RANDOM),--random $(RANDOM)) $(if $(SEED),--seed $(SEED))

attacks: $(VENV)/development ## attack the service behind nginx; everything must be refused (PROMISES="P1 P2" chooses)
	$(PY) -m tools.attacks $(if $(PROMISES),--promises $(PROMISES))

products: install ## run published OpenID Connect products with the settings of docs/products.md (NAMES= chooses, SHORT=1 runs six, WRITE=1 writes the page)
	$(PY) -m tools.products $(NAMES) $(if $(SHORT),--short) $(if $(WRITE),--write)

clients: install ## build the client libraries, a wheel and an npm package, into var/clients
	@clients/build var/clients && ls var/clients

sbom: $(VENV)/development ## write what the service and the client libraries consist of (CycloneDX) into var/sbom
	@$(PY) -m tools.sbom var/sbom

clean: ## delete the sandbox, the virtual environment and the npm packages
	rm -rf var $(VENV) $(PACKAGES)
