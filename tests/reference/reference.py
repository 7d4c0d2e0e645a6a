#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# reference.py ROOT OUT: the reference of all public headers, in OUT/html. Fails if doxygen warns, or if a public name is
# not documented.
#
# Doxygen does not warn of concepts, enumerators and namespaces, nor of what is in an undocumented class. So the names
# are asked for a second time, with all of them extracted, and looked through.
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

from headers import Header


def doxygen(out, **settings):
    doxyfile = (pathlib.Path(__file__).parent / "Doxyfile").read_text()
    doxyfile += "".join(f"{name} = {value}\n" for name, value in settings.items())
    run = subprocess.run(["doxygen", "-"], input=doxyfile, cwd=out, text=True, capture_output=True)
    if run.returncode:
        sys.exit(f"doxygen ended with {run.returncode}: {run.stderr}")
    return list(dict.fromkeys(line.replace(f"{out}/", "") for line in run.stderr.splitlines() if line.strip()))


def texts(node, *names):
    return "".join("".join(part.itertext()) for name in names for part in node.findall(name)).strip()


def undocumented(out):
    """Every public name in doxygen's XML without a description, and how many there are."""
    names, bare = 0, set()

    def look(node, kind, name, place):
        nonlocal names
        names += 1
        if not texts(node, "briefdescription", "detaileddescription"):
            bare.add(f"{place.get('file')}:{place.get('line', 1)}: {kind} {name} is not documented")

    for path in sorted((out / "xml").glob("*.xml")):
        for compound in xml.parse(path).getroot().findall("compounddef"):
            kind, place, name = compound.get("kind"), compound.find("location"), texts(compound, "compoundname")
            if kind in ("dir", "page") or name == "namespaces.dox" or compound.get("prot") == "private" or name == "std":
                continue
            look(compound, kind, name, place)
            for member in compound.iter("memberdef"):
                if member.get("prot") == "private":
                    continue
                full = f"{name}::{texts(member, 'name')}{texts(member, 'argsstring')}"
                look(member, member.get("kind"), full, member.find("location"))
                for value in member.findall("enumvalue"):
                    look(value, "enumerator", f"{full}::{texts(value, 'name')}", member.find("location"))
    return names, sorted(bare)


def main(root, out):
    shutil.rmtree(out, ignore_errors=True)
    headers = [*root.glob("include/**/*.hpp"), *root.glob("adapters/*/include/**/*.hpp")]
    headers = [header for header in headers if "detail" not in header.relative_to(root).parts]
    for header in headers:
        copy = out / header.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(Header(header).for_doxygen())
    shutil.copy(pathlib.Path(__file__).parent / "namespaces.dox", out)
    said = doxygen(out)
    doxygen(out, EXTRACT_ALL="YES", GENERATE_HTML="NO", GENERATE_XML="YES", XML_PROGRAMLISTING="NO")
    names, bare = undocumented(out)
    read = list(out.glob("xml/*_8hpp.xml"))
    if len(read) != len(headers):
        sys.exit(f"doxygen has read {len(read)} of {len(headers)} headers")
    told = {line.split(": ", 1)[0] for line in said}
    said += [line for line in bare if line.split(": ", 1)[0] not in told]
    for line in said:
        print(line)
    print(f"{names} public names, {len(bare)} undocumented, {len(said)} complaints: {out}/html/index.html")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()))
