"""A story as a figure, or as a film."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.animation import FuncAnimation
from matplotlib.figure import Figure, SubFigure

from smore.evaluation import Skill
from smore.plotting._overlays import HEIGHTS, draw_course, draw_overlay
from smore.plotting._skill import draw_skill
from smore.plotting.fields import draw_on
from smore.plotting.panels import WIDTH, add_bar, draw_marks, draw_panels, panel_size
from smore.plotting.sheet import sheet
from smore.plotting.story import Course, Row, Story, panel_snapshots

HEADING = 0.4  # room above and below, inches
SKILL_HEIGHT = 3.0
FILM_WIDTH = 2.6  # of a panel, inches
LINE_SIZE = (6.0, 2.6)
MILLISECONDS = 150  # from frame to frame


def story_figure(story: Story, skill: Skill | None = None, *, reliability: bool = False) -> Figure:
    """All channels above each other, below them skill against lead time if it is given."""
    width, height = _block_size(story)
    heights = [height] * len(story.courses) + ([] if skill is None else [SKILL_HEIGHT])
    figure = sheet(width, sum(heights) + HEADING)
    figure.suptitle(story.heading, fontsize=11)
    blocks: Any = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for block, course in zip(blocks, story.courses, strict=False):
        if story.ground.is_line:
            block.suptitle(course.quantity, fontsize=10)
            draw_course(block, story, course)
        else:
            _draw_snapshots(block, story, course)
    if skill is not None:
        draw_skill(blocks[-1], skill, reliability=reliability)
    return figure


def _block_size(story: Story) -> tuple[float, float]:
    """Of one channel."""
    shown = panel_snapshots(len(story.times))
    if story.ground.is_line:
        return max(WIDTH * len(shown) + 1.0, LINE_SIZE[0]), sum(HEIGHTS) + 0.3
    rows = story.courses[0].rows(story.word)
    width, height = panel_size(len(rows), len(shown), story.ground)
    return width, height + (0.15 if story.snapshots else 0.0)  # titles of two lines


def _draw_snapshots(block: SubFigure, story: Story, course: Course) -> None:
    shown = panel_snapshots(len(story.times))
    rows = [row.at(shown) for row in course.rows(story.word)]
    titles = [story.title(index) for index in shown]
    draw_panels(block, rows, titles, story.ground, course.quantity)


def story_film(story: Story) -> FuncAnimation:
    """One time after the other: a row for every channel, a column for every kind of field.

    The animation has `save`, and `to_jshtml` for notebooks; `save_figure` writes it as a GIF.
    """
    draw = _curves_film if story.ground.is_line else _panels_film
    figure, show = draw(story)
    show(0)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # panels stay where they are
    return FuncAnimation(
        figure, show, init_func=lambda: (), frames=len(story.times), interval=MILLISECONDS
    )


def _panels_film(story: Story) -> tuple[Figure, Any]:
    lines = [course.rows(story.word) for course in story.courses]
    ground, count = story.ground, len(lines[0])
    height = FILM_WIDTH * ground.shape(of_line=1.0) + 0.5
    size = ((FILM_WIDTH + 0.7) * count + 0.6, height * len(lines) + 0.7)
    figure = sheet(*size)
    grid = figure.subplots(len(lines), count, squeeze=False)
    with_bar = set()

    def show(index: int) -> Sequence[Any]:
        figure.suptitle(f"{story.heading}\n{_flat(story.title(index), ', ')}", fontsize=10)
        for course, rows, axes in zip(story.courses, lines, grid, strict=True):
            for panel, row in zip(axes, rows, strict=True):
                show_panel(panel, row, index)
                panel.set_title(f"{course.channel.name}\n{_flat(row.label)}", fontsize=9)
            ground.label_up(axes[0])
        return ()

    def show_panel(panel: Any, row: Row, index: int) -> None:
        for artist in (*panel.collections, *panel.lines, *panel.texts, *panel.patches):
            artist.remove()
        drawn: Any = draw_on(panel, ground, row.fields[index], row.colours)
        draw_marks(panel, ground, row.marks[index] if row.marks else None)
        if panel not in with_bar:
            with_bar.add(panel)
            add_bar(figure, panel, drawn, row.units)

    return figure, show


def _curves_film(story: Story) -> tuple[Figure, Any]:
    size = (LINE_SIZE[0], LINE_SIZE[1] * len(story.courses) + 0.5)
    figure = sheet(*size)
    grid = figure.subplots(len(story.courses), 1, squeeze=False)[:, 0]

    def show(index: int) -> Sequence[Any]:
        figure.suptitle(f"{story.heading}\n{_flat(story.title(index), ', ')}", fontsize=10)
        for axes, course in zip(grid, story.courses, strict=True):
            axes.clear()
            draw_overlay(axes, story, course, index)
            axes.set_ylabel(course.quantity, fontsize=9)
            axes.legend(frameon=False, fontsize=8, loc="upper right")
        return ()

    return figure, show


def _flat(text: str, between: str = " ") -> str:
    return text.replace("\n", between)
