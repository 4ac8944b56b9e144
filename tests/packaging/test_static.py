"""packaging/ against the tree: no package is built."""

import ast
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "packaging" / "debian"
BUILD = pathlib.Path(os.environ["PENSTOCK_BUILD_DIR"])
PACKAGES = ["penstock-node", "penstock-ctld", "penstock-client",
            "penstock-slow-tier", "python3-penstock",
            "python3-penstock-exchange", "python3-penstock-loader",
            "libpenstock1", "libpenstock-dev",
            "libpenstock-loader1", "libpenstock-loader-dev"]
# Above this, rights lack a justification.
MAX_EXPOSURE = {"penstockd": 2.0, "penstock-broker@": 4.2,
                "penstockctld": 2.0}
SKIPPED = 77


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"needs {tool}")


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True,
                          capture_output=True, timeout=60, **options)


def paragraphs():
    """debian/control: one dictionary for each paragraph."""
    out = []
    for text in (DEBIAN / "control").read_text().strip().split("\n\n"):
        fields = re.findall(r"^([\w-]+):((?:.*\n?)(?:[ \t].*\n?)*)", text,
                            re.MULTILINE)
        out.append({name: value.strip() for name, value in fields})
    return out


def installed_files():
    """Paths of the files from cmake --install, at Debian's locations."""
    with tempfile.TemporaryDirectory(prefix="penstock-install-") as directory:
        done = run("cmake", "--install", BUILD, "--prefix", "/usr",
                   env={**os.environ, "DESTDIR": directory})
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        paths = [str(path.relative_to(directory))
                 for path in pathlib.Path(directory).rglob("*")
                 if not path.is_dir()]
    # The build may be configured for another prefix than /usr.
    for old, new in ((r"^usr/lib/python3\.\d+/", "usr/lib/python3/"),
                     (r"^.*/(slurm(-wlm)?)/(\w+\.so)$",
                      r"usr/lib/x/slurm-wlm/\3"),
                     (r"^usr/lib/(libpenstock)", r"usr/lib/x/\1")):
        paths = [re.sub(old, new, path) for path in paths]
    return paths


def claims(name):
    """The patterns of one of debian/'s file lists."""
    lines = (DEBIAN / name).read_text().splitlines()
    return [line.split()[0] for line in lines
            if line.strip() and not line.startswith("#")]


class Debian(unittest.TestCase):
    def test_control_lists_the_packages(self):
        names = [p["Package"] for p in paragraphs() if "Package" in p]
        self.assertEqual(sorted(names), sorted(PACKAGES))

    def test_each_installed_file_is_in_one_package(self):
        lists = {name: claims(f"{name}.install") for name in PACKAGES}
        lists["none"] = claims("not-installed")
        used = set()
        for path in installed_files():
            found = [(package, pattern)
                     for package, patterns in lists.items()
                     for pattern in patterns
                     if fnmatch.fnmatch(path, pattern)
                     or fnmatch.fnmatch(path, pattern + "/*")]
            self.assertEqual(len(found), 1, f"{path}: {found}")
            used.update(found)
        for package, patterns in lists.items():
            for pattern in patterns:
                self.assertIn((package, pattern), used, "finds nothing")

    def test_build_dependencies_are_in_tools_packages(self):
        sections = (ROOT / "tools" / "packages").read_text().split("\n[")
        wanted = {line.split()[0]
                  for text in sections if text.startswith(("build]", "package]"))
                  for line in text.splitlines()[1:] if line.split("#")[0].strip()}
        wanted |= {"debhelper-compat", "dh-sequence-installsysusers",
                   "dh-sequence-python3", "python3:any",
                   "pkgconf"}
        for entry in paragraphs()[0]["Build-Depends"].split(","):
            if entry.strip():
                self.assertIn(entry.split()[0], wanted)

    def test_scripts_parse(self):
        scripts = [*DEBIAN.glob("*.p[or][se]*"), DEBIAN / "slurm-substvars",
                   ROOT / "packaging" / "build-deb"]
        self.assertGreaterEqual(len(scripts), 6)
        for script in scripts:
            with self.subTest(script=script.name):
                done = run("sh", "-n", script)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class SlurmSubstvars(unittest.TestCase):
    def dependencies(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".h") as header:
            header.write(text)
            header.flush()
            return run(DEBIAN / "slurm-substvars", header.name)

    def test_releases(self):
        for number, line, next_line, version, next_version in (
                ("0x160508", "22.05", "22.06~", "22.05.8", "22.05.9~"),
                ("0x180b05", "24.11", "24.12~", "24.11.5", "24.11.6~"),
                ("0x1a0500", "26.05", "26.06~", "26.05.0", "26.05.1~")):
            done = self.dependencies(
                f"#ifndef A\n#define SLURM_VERSION_NUMBER {number}\n"
                "/* #if SLURM_VERSION_NUMBER > SLURM_VERSION_NUM(2,1,0) */\n")
            holder = "slurm-wlm-basic-plugins"
            self.assertEqual(
                done.stdout,
                f"slurm:Spank={holder} (>= {line}), "
                f"{holder} (<< {next_line})\n"
                f"slurm:Version={version}\n"
                f"slurm:JobSubmit={holder} (>= {version}), "
                f"{holder} (<< {next_version})\n")

    def test_a_header_without_a_version_is_an_error(self):
        for text in ("", "#define SLURM_VERSION_NUMBER 22\n"):
            done = self.dependencies(text)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("no SLURM_VERSION_NUMBER", done.stderr)


class Units(unittest.TestCase):
    def test_debhelper_finds_each_unit(self):
        """It takes debian/PACKAGE.NAME.service, and debian/PACKAGE@.NAME.service
        of a template."""
        rules = (DEBIAN / "rules").read_text("utf-8").replace("\\\n", " ")
        copies = re.findall(
            r"\tcp \S+/([\w-]+)(@?)\.(service|socket)\s+debian/(\S+)", rules)
        self.assertEqual(len(copies), 4)
        for name, template, kind, target in copies:
            self.assertRegex(target,
                             rf"^penstock-\w+{template}\.{name}\.{kind}$")

    @needs("systemd-analyze")
    def test_exposure(self):
        for name, allowed in MAX_EXPOSURE.items():
            with self.subTest(unit=name):
                done = run("systemd-analyze", "security", "--no-pager",
                           "--offline=true",
                           BUILD / "generated" / f"{name}.service")
                found = re.search(r"exposure level for \S+: ([\d.]+)",
                                  done.stdout)
                self.assertIsNotNone(found, done.stdout + done.stderr)
                self.assertLessEqual(float(found.group(1)), allowed)

    @needs("systemd-analyze")
    def test_every_setting_is_known(self):
        for unit in (*(BUILD / "generated" / f"{name}.service"
                       for name in MAX_EXPOSURE),
                     ROOT / "packaging" / "penstock-broker.socket"):
            done = run("systemd-analyze", "verify", "--man=no", unit)
            # If Penstock is not installed, verify also reports the missing
            # program.
            for line in done.stderr.splitlines():
                self.assertNotRegex(line, r"^\S+:\d+:")


class OldReports(unittest.TestCase):
    CONF = ROOT / "packaging" / "tmpfiles.d" / "penstock.conf"

    def cleaned(self, conf, reports):
        """Whether systemd-tmpfiles removes a report of a moment ago."""
        with tempfile.TemporaryDirectory() as root:
            report = pathlib.Path(root + reports, "1", "n1.json")
            report.parent.mkdir(parents=True)
            report.touch()
            file = pathlib.Path(root, "penstock.conf")
            file.write_text(conf, "utf-8")
            done = run("systemd-tmpfiles", "--clean", f"--root={root}", file)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return not report.exists()

    @needs("systemd-tmpfiles")
    def test_only_old_reports_are_removed_from_the_default_directory(self):
        conf = self.CONF.read_text("utf-8")
        default = re.search(r'report_dir = "([^"]+)"', (
            ROOT / "common" / "config.h").read_text("utf-8")).group(1)
        self.assertFalse(self.cleaned(conf, default))
        self.assertTrue(self.cleaned(conf.replace(" 90d", " 0"), default))


class Others(unittest.TestCase):
    @needs("rpmspec")
    def test_the_spec_has_the_same_packages(self):
        spec = ROOT / "packaging" / "rpm" / "penstock.spec"
        done = run("rpmspec", "-q", "--qf", "%{NAME}\n", "--define",
                   "python3_sitelib /usr/lib/python3/site-packages", spec)
        self.assertEqual(done.stderr, "")
        names = set(done.stdout.split()) - {"penstock"}
        debian = {re.sub("1$", "", re.sub("-dev$", "-devel", name))
                  for name in PACKAGES}
        self.assertEqual(names, debian)

    @needs("rpmlint")
    def test_rpmlint_finds_nothing(self):
        rpm = ROOT / "packaging" / "rpm"
        done = run("rpmlint", "-r", rpm / "penstock.rpmlintrc",
                   rpm / "penstock.spec")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("0 errors, 0 warnings", done.stdout)

    def test_versions_agree(self):
        version = re.search(r"^project\(penstock VERSION (\S+)",
                            (ROOT / "CMakeLists.txt").read_text(),
                            re.MULTILINE).group(1)
        changelog = (DEBIAN / "changelog").read_text()
        self.assertTrue(changelog.startswith(f"penstock ({version}) "))
        spec = (ROOT / "packaging" / "rpm" / "penstock.spec").read_text()
        self.assertRegex(spec, rf"(?m)^Version: +{re.escape(version)}$")

    def test_the_spack_recipe_is_python(self):
        recipe = ROOT / "packaging" / "spack" / "package.py"
        tree = ast.parse(recipe.read_text())
        names = [node.name for node in tree.body
                 if isinstance(node, ast.ClassDef)]
        self.assertEqual(names, ["Penstock"])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    for test, reason in result.skipped:
        print(f"SKIPPED: {test.id()}: {reason}")
    sys.exit(SKIPPED if result.skipped else 0)
