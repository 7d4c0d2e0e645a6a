# SPDX-License-Identifier: MIT
# The Conan package of fila:  conan create conan -o "fila/*:with_sqlite=True"
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.scm import Version

required_conan_version = ">=2.4"

# Each component that is an option: the package it needs, that package's target, and what to link if the system has it.
COMPONENTS = {
    "sqlite": ("sqlite3", "[>=3.35 <4]", ["sqlite3"]),
    "postgres": ("libpqxx", "[>=6.4 <9]", ["pqxx", "pq"]),
    "testing": ("catch2", "[>=2.13 <4]", []),
}


class FilaConan(ConanFile):
    name = "fila"
    package_type = "header-library"
    license = "MIT"
    description = "Any table with a status column as a reliable work queue"
    topics = ("queue", "jobs", "workers", "postgresql", "sqlite", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {f"with_{name}": [True, False] for name in COMPONENTS}
    default_options = {f"with_{name}": False for name in COMPONENTS}
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "..", "include", "fila", "version.hpp"))
        self.version = ".".join(re.findall(r"#define FILA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "..")
        for pattern in "LICENSE", "include/*.hpp", "adapters/*/include/*.hpp":
            copy(self, pattern, root, self.export_sources_folder)

    def layout(self):
        # The sources are where the repository begins, one above the recipe.
        self.folders.root = ".."
        self.folders.source = "."

    def requirements(self):
        for name, (package, versions, _) in COMPONENTS.items():
            if package == "libpqxx" and self._is_older_than("gcc", "13"):
                versions = "[>=6.4 <8]"  # libpqxx 8 asks for a later one than fila does
            if self.options.get_safe(f"with_{name}"):
                self.requires(f"{package}/{versions}", transitive_headers=True, transitive_libs=True)

    def validate(self):
        check_min_cppstd(self, 20)
        for compiler, floor in ("gcc", "12"), ("clang", "16"):
            if self._is_older_than(compiler, floor):
                raise ConanInvalidConfiguration(f"fila needs {compiler} {floor} or later")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # All of them, whatever the options say: those steer what is required, and the package is one for all.
        for root in "include", "adapters/sqlite/include", "adapters/postgres/include":
            copy(self, "*.hpp", os.path.join(self.source_folder, root), os.path.join(self.package_folder, "include"))

    def package_id(self):
        self.info.clear()

    def package_info(self):
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "fila")
        # The core is fila::fila. What stands for the whole package must not take that name, or every database came with it.
        self.cpp_info.set_property("cmake_target_name", "fila::all")
        core = self._component("core", "fila::fila")
        if self.settings.os in ("Linux", "FreeBSD"):
            core.system_libs = ["pthread"]
        found = {require.ref.name for require, _ in self.dependencies.host.items()}
        for name, (package, _, system_libs) in COMPONENTS.items():
            if not self.options.get_safe(f"with_{name}"):
                continue
            component = self._component(name, f"fila::{name}")
            component.requires = ["core"]
            if package in found:
                component.requires.append(f"{package}::{package}")
            else:  # a platform requirement, of which Conan knows no more than the name
                component.system_libs = system_libs

    def _is_older_than(self, compiler, version):
        return self.settings.compiler == compiler and Version(self.settings.compiler.version) < version

    def _component(self, name, target):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", target)
        component.bindirs = component.libdirs = []
        return component
