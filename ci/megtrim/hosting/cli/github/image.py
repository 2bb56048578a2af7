"""``megtrim ci github image``: brings the toolchain's image before a job needs it."""

from pathlib import Path

from megtrim.core.cli.echo import open_console, show
from megtrim.core.cli.environment import open_processes
from megtrim.core.config.load import load_config
from megtrim.hosting.github.runner import write_output
from megtrim.libs.util.errors import EXIT_PASS, InputError
from megtrim.libs.util.wording import one_line
from megtrim.places.compile.images import docker as images
from megtrim.places.compile.images.docker import DockerClient, expect_fixed, is_fixed


def image(config: Path, image: str, recipe: str, folder: Path) -> int:
    if image and recipe:
        msg = "found both an image and a recipe, expected one of them"
        raise InputError(msg)
    processes = open_processes()
    env = processes.env
    docker = DockerClient(processes)
    if recipe:
        made, reference = _of_recipe(recipe, folder, docker)
        write_output(env, "image", reference)
        write_output(env, "made", "true" if made else "false")
        return EXIT_PASS
    if image:
        expect_fixed(image, source="the input image")
    write_output(env, "image", image)
    write_output(env, "made", "false")
    reference = image or _read_reference(config)
    if not reference:
        show("no image is needed")
        return EXIT_PASS
    open_console().note(f"getting the image {reference}")
    found = docker.find(reference) or docker.pull(reference)
    show(f"image {found.reference}, ID {found.id}")
    return EXIT_PASS


def _read_reference(config: Path) -> str:
    """Empty if it cannot be used: a warning, which the trim repeats in its report."""
    warn = open_console().warn
    try:
        reference = load_config(config).config.toolchain.image or ""
    except InputError as error:
        warn(one_line(str(error), most=1000))
        return ""
    if reference and not is_fixed(reference):
        warn(f"toolchain.image has no digest: {one_line(reference)}")
        return ""
    return reference


def _of_recipe(recipe: str, folder: Path, docker: DockerClient) -> tuple[bool, str]:
    images.expect_recipe(recipe)
    tag = images.default_tag(recipe)
    found = images.load(docker, folder, tag)
    if found is not None:
        show(f"image {tag}, ID {found.id}: as an earlier job built it")
        return False, found.id
    console = open_console()
    made = images.build_image(recipe, docker, console.progress(f"building {recipe}"))
    show(f"image {tag}, ID {made.id}: built now")
    return images.save(docker, folder, tag, console.warn), made.id
