"""Lets Debian's Bazel 4.2.3 build without fetching anything.

Bazel 4 downloads rule sets that only rename its built-in rules, and a coverage
tool that no test of ours runs. Other Bazels are left to get their own.
"""

_RENAMED = {
    "rules_cc": ("cc", ["cc_binary", "cc_import", "cc_library", "cc_test", "cc_toolchain", "cc_toolchain_suite"]),
    "rules_java": ("java", ["java_binary", "java_import", "java_library", "java_runtime", "java_toolchain"]),
    "rules_proto": ("proto", ["proto_library"]),
}

def _stub_impl(repository):
    for path, content in repository.attr.files.items():
        repository.file(path, content)

_stub = repository_rule(implementation = _stub_impl, attrs = {"files": attr.string_dict()})

def stub_downloads():
    """Call it from WORKSPACE."""
    version = native.bazel_version
    # Debian's Bazel says no_version.
    if version not in ("", "no_version") and not version.startswith("4."):
        return
    for name, (folder, rules) in _RENAMED.items():
        _stub(name = name, files = {
            folder + "/BUILD": "",
            folder + "/defs.bzl": "".join(["%s = native.%s\n" % (rule, rule) for rule in rules]),
        })
    _stub(name = "remote_coverage_tools", files = {
        "BUILD": """filegroup(name = "coverage_report_generator", visibility = ["//visibility:public"])""",
    })
