"""Runs classes of tempest's network tests, whose names come on stdin, one a line, and says of each test how it went, as
a line of JSON; a line {"end": CLASS} follows a class. First of all it lists the classes: {"classes": {CLASS: [TEST, ...]}}.

Settings come from TEMPEST_CONFIG_DIR. What the tests print goes to stderr.
"""
import json
import os
import pkgutil
import sys
import time
import types
import unittest

answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

from tempest import config
from tempest.lib.services.network import subnets_client
import tempest.api.network

config.CONF.set_config_path(os.path.join(os.environ["TEMPEST_CONFIG_DIR"], "tempest.conf"))

# Subnets are deleted at once: the client's pause is for clouds that take ports down by and by.
subnets_client.time = types.SimpleNamespace(sleep=lambda seconds: None)


def say(**what):
    answers.write(json.dumps(what) + "\n")


class Result(unittest.TestResult):
    """Tells of each test when it ends; set-ups of classes that fail or are skipped count as tests."""

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()

    def tell(self, test, how, text=""):
        name = test.id()
        if "(" in name and not hasattr(test, "_testMethodName"):  # setUpClass (module.Class)
            name = name.split("(")[1].rstrip(")") + "." + name.split(" ")[0]
        say(test=name.split("[")[0], how=how, text=text, seconds=time.monotonic() - getattr(self, "began", time.monotonic()))

    def addSuccess(self, test, *more, **details):
        self.tell(test, "passed")

    def addError(self, test, err=None, details=None):
        self.tell(test, "failed", self.text(test, err, details))

    addFailure = addError

    def addSkip(self, test, reason=None, details=None):
        if reason is None and details:
            reason = details["reason"].as_text()
        self.tell(test, "skipped", reason)

    def addExpectedFailure(self, test, err=None, details=None):
        self.tell(test, "failed", "it was expected to fail, and did")

    def addUnexpectedSuccess(self, test, details=None):
        self.tell(test, "passed")

    def text(self, test, err, details):
        if details:
            return "\n".join(d.as_text() for name, d in details.items() if "traceback" in name or "reason" in name)
        return self._exc_info_to_string(err, test)


def found():
    classes = {}
    for module in pkgutil.walk_packages(tempest.api.network.__path__, "tempest.api.network."):
        __import__(module.name)
        for suite in unittest.defaultTestLoader.loadTestsFromModule(sys.modules[module.name]):
            for test in suite:
                kind = type(test)
                if kind.__module__ == module.name:
                    classes.setdefault(kind.__module__ + "." + kind.__qualname__, []).append(test._testMethodName)
    return classes


say(classes=found())
for line in sys.stdin:
    name = line.strip()
    module, kind = name.rsplit(".", 1)
    try:
        unittest.defaultTestLoader.loadTestsFromTestCase(getattr(sys.modules[module], kind)).run(Result())
    except BaseException as e:
        say(test=name, how="failed", text=repr(e))
    say(end=name)
