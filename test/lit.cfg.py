import os
import shutil
import subprocess

import lit.formats
from lit.llvm import llvm_config

config.name = "ETC"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "unit", "CMakeLists.txt", "lit.cfg.py"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = config.etc_obj_root

# Sanitizers are told what to do through the environment.
llvm_config.with_system_environment(["HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "ETC_PROPERTY_COUNT", "ETC_PROPERTY_SEED", "ETC_MUTATION_COUNT"])
# A FileCheck variable lives until the next CHECK-LABEL, unless its name begins with $.
llvm_config.with_environment("FILECHECK_OPTS", "-enable-var-scope")
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)

tools = [
    "etc-opt",
    "etc-run",
    "etc-run-faulty",
    "etc-write-checkpoint",
    "FileCheck",
    "not",
    "split-file",
]
llvm_config.add_tool_substitutions(tools, [config.etc_tools_dir, config.llvm_tools_dir])
config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%etc_src_root", config.etc_src_root))
config.substitutions.append(("%etc_build", config.etc_build_root))
config.substitutions.append(("%etc_tools", config.etc_tools_dir))
config.environment["PATH"] = config.etc_tools_dir + os.pathsep + config.environment["PATH"]

if all(shutil.which(tool) for tool in ("cpack", "dpkg-shlibdeps", "file")):
    config.available_features.add("cpack")
if shutil.which("codespell"):
    config.available_features.add("codespell")
if "-fsanitize" in config.compiler_flags:
    config.available_features.add("sanitizer")
if shutil.which("chromium"):
    config.available_features.add("chromium")
else:
    lit_config.note("chromium is not installed: tests that draw reports are skipped (tools/dev/setup chromium)")
for module in ("scipy", "safetensors"):
    if subprocess.run([config.python_executable, "-c", f"import {module}"], capture_output=True).returncode == 0:
        config.available_features.add(module)
