/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * graph_dot.c - a picture for graphviz's dot; see graph.h.
 *
 * dot puts all that is on one level into one row, which nobody can look at when it is two hundred
 * units. So the units of a frame are stacked in a grid, by edges that are not drawn. Every text is
 * quoted: no name can end its string, be an escape of dot's or an HTML entity.
 */
#include "graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"

#define NAMES_MAX 34 /* characters of a list of names in a box */

size_t graph_columns(size_t count, double width, double height, double aspect)
{
	size_t columns = 1;

	while ((double)(columns * columns) * width < (double)count * height * aspect)
		columns++;
	return columns;
}

static void add_line(struct io_text *out, const char *text, size_t most, size_t number,
		     void (*line)(struct io_text *out, const char *text, size_t number))
{
	char cut[512];
	size_t len = strlen(text);

	if (len <= most || most + 4 > sizeof(cut)) {
		line(out, text, number);
		return;
	}
	memcpy(cut, text, most - 3);
	memcpy(cut + most - 3, "...", 4);
	line(out, cut, number);
}

static char *count_text(size_t count, const char *one, const char *names)
{
	if (count == 1)
		return strdup(names);
	return io_format("%zu %s: %s", count, one, names);
}

void graph_lines(const struct picture *p, size_t index, size_t most, struct io_text *out,
		 void (*line)(struct io_text *out, const char *text, size_t number))
{
	const struct picture_box *box = &p->boxes[index];
	char *lines[6] = { NULL };
	size_t n = 0;

	if (box->kind == PICTURE_UNIT) {
		lines[n++] = strdup(box->unit);
		if (box->leaf_count > 1 ||
		    (box->leaf_count == 1 && strcmp(box->leaves, box->unit) != 0))
			lines[n++] = count_text(box->leaf_count, "leaves", box->leaves);
		lines[n++] = count_text(box->count, "hosts", box->names);
	} else if (box->kind == PICTURE_LOOSE) {
		lines[n++] = strdup("on no switch");
		lines[n++] = count_text(box->count, "hosts", box->names);
	} else {
		lines[n++] = box->count == 1 ? strdup(box->names)
					     : io_format("%zu switches", box->count);
		if (box->count > 1)
			lines[n++] = strdup(box->names);
	}
	if (*box->wires)
		lines[n++] = strdup(box->wires);
	if (box->unnamed)
		lines[n++] = io_format("%zu HCA port%s without a name", box->unnamed,
				       box->unnamed == 1 ? "" : "s");
	if (box->faults)
		lines[n++] = io_format("%zu fault%s", box->faults, box->faults == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++) {
		if (lines[i])
			add_line(out, lines[i], most, i, line);
		else
			out->failed = true;
		free(lines[i]);
	}
}

/* One character of a quoted text that is shown. */
static void add_quoted(struct io_text *out, const char *text)
{
	char *safe = io_printable(text);

	if (!safe) {
		out->failed = true;
		return;
	}
	for (const char *at = safe; *at; at++) {
		if (*at == '"' || *at == '\\')
			io_add(out, "\\%c", *at);
		else if (*at == '&')
			io_add(out, "&amp;");
		else
			io_add(out, "%c", *at);
	}
	free(safe);
}

static void add_box_line(struct io_text *out, const char *text, size_t number)
{
	io_add(out, number ? "\\n" : "");
	add_quoted(out, text);
}

static bool has_missing(const struct picture *p, size_t box)
{
	for (size_t i = 0; i < p->fault_count; i++)
		if (p->faults[i].box == box && p->faults[i].missing)
			return true;
	return false;
}

static void write_box(struct io_text *out, const struct picture *p, size_t index, int indent)
{
	const struct picture_box *box = &p->boxes[index];

	io_add(out, "%*sb%zu [label=\"", indent, "", index);
	graph_lines(p, index, NAMES_MAX, out, add_box_line);
	io_add(out, "\", tooltip=\"");
	add_quoted(out, box->names);
	io_add(out, "\"%s%s];\n",
	       box->kind == PICTURE_UNIT       ? ", fillcolor=\"#eaf2fb\""
	       : box->kind == PICTURE_SWITCHES ? ", fillcolor=\"#e6e6e6\""
					       : ", style=\"filled,dashed\", fillcolor=white",
	       !box->faults	       ? ""
	       : has_missing(p, index) ? ", color=\"#c00000\", penwidth=2, style=\"filled,dashed\""
				       : ", color=\"#c00000\", penwidth=2");
}

/* How the boxes of a drawing are stacked. */
struct stack {
	size_t columns; /* of units in a frame */
	size_t *row;	/* room for a list of boxes or frames */
};

/* Keeps the second one below the first. */
static void write_below(struct io_text *out, size_t upper, size_t lower)
{
	io_add(out, "  b%zu -> b%zu [style=invis];\n", upper, lower);
}

static size_t write_units(struct io_text *out, const struct picture *p, size_t frame,
			  const struct stack *stack, int indent)
{
	size_t count = picture_boxes(p, frame, PICTURE_UNITS, stack->row);

	for (size_t i = 0; i < count; i++)
		write_box(out, p, stack->row[i], indent);
	for (size_t i = stack->columns; count > PICTURE_MANY && i < count; i++)
		write_below(out, stack->row[i - stack->columns], stack->row[i]);
	return count;
}

static void write_frame(struct io_text *out, const struct picture *p, size_t frame,
			const struct stack *stack, int depth)
{
	int indent = 2 * depth + 4;
	size_t count, *inside = calloc(p->frame_count + 1, sizeof(*inside));

	if (!inside) {
		out->failed = true;
		return;
	}
	io_add(out, "%*ssubgraph cluster_%zu {\n%*slabel=\"%s ", 2 * depth + 2, "", frame, indent,
	       "", p->frames[frame].kind);
	add_quoted(out, p->frames[frame].name);
	io_add(out, "\";\n");
	for (int level = picture_top(p, frame); level > PICTURE_UNITS; level--) {
		count = picture_boxes(p, frame, level, stack->row);
		for (size_t i = 0; i < count; i++)
			write_box(out, p, stack->row[i], indent);
	}
	write_units(out, p, frame, stack, indent);
	count = picture_frames(p, frame, inside);
	for (size_t i = 0; i < count; i++)
		write_frame(out, p, inside[i], stack, depth + 1);
	io_add(out, "%*s}\n", 2 * depth + 2, "");
	free(inside);
}

/* A box at the top, or at the bottom, of a frame that has no frames in it; FABRIC_NONE: it has. */
static size_t end_box(const struct picture *p, size_t frame, bool top, const struct stack *stack)
{
	size_t count = picture_frames(p, frame, stack->row);

	if (count)
		return FABRIC_NONE;
	count = picture_boxes(p, frame, top ? picture_top(p, frame) : PICTURE_UNITS, stack->row);
	return count ? stack->row[top ? 0 : count - 1] : FABRIC_NONE;
}

/* Frames that are large stand below each other as well. */
static void stack_frames(struct io_text *out, const struct picture *p, size_t frame,
			 const struct stack *stack)
{
	size_t *inside = calloc(p->frame_count + 1, sizeof(*inside));
	size_t count = inside ? picture_frames(p, frame, inside) : 0, columns;
	double wide = 4.0 * (double)stack->columns;

	columns = graph_columns(count, wide, 4 + wide / 2, 1.6);
	for (size_t i = columns; p->f->unit_count > PICTURE_LARGE && i < count; i++) {
		size_t upper = end_box(p, inside[i - columns], false, stack);
		size_t lower = end_box(p, inside[i], true, stack);
		if (upper != FABRIC_NONE && lower != FABRIC_NONE)
			write_below(out, upper, lower);
	}
	if (!inside)
		out->failed = true;
	free(inside);
}

/* A label where there is room for it, and wherever something is wrong. */
static void write_edges(struct io_text *out, const struct picture *p)
{
	for (size_t i = 0; i < p->edge_count; i++) {
		const struct picture_edge *e = &p->edges[i];

		io_add(out, "  b%zu -> b%zu [%s=\"%s\"", e->upper, e->lower,
		       e->faults || p->edge_count <= 40 ? "label" : "tooltip", e->wires);
		io_add(out, "%s];\n",
		       e->faults ? ", color=\"#c00000\", fontcolor=\"#c00000\", penwidth=2" : "");
	}
}

static void write_faults(struct io_text *out, const struct picture *p)
{
	size_t shown = p->fault_count < GRAPH_FAULTS ? p->fault_count : GRAPH_FAULTS;

	if (p->fault_count == 0)
		return;
	io_add(out, "  faults [shape=note, fillcolor=\"#fdecea\", color=\"#c00000\", label=\"");
	for (size_t i = 0; i < shown; i++) {
		add_quoted(out, p->faults[i].text);
		io_add(out, "\\l");
	}
	if (shown < p->fault_count)
		io_add(out, "and %zu more\\l", p->fault_count - shown);
	io_add(out, "\"];\n");
}

/* Columns of units in a frame: of the largest one, so that it is about as high as wide. */
static size_t columns_of(const struct picture *p, size_t *room)
{
	size_t most = 1;

	for (size_t i = 0; i < p->frame_count; i++) {
		size_t count = picture_boxes(p, i, PICTURE_UNITS, room);
		if (count > most)
			most = count;
	}
	return graph_columns(most, 2.4, 1.1, 1.2);
}

static void write_all(struct io_text *out, const struct picture *p, const struct stack *stack,
		      const char *title)
{
	io_add(out, "digraph fabric {\n  graph [labelloc=t, fontname=\"Helvetica\", nodesep=0.15, "
		    "ranksep=0.5, label=\"");
	add_quoted(out, title);
	io_add(out, "\"];\n"
		    "  node [shape=box, style=filled, fontname=\"Helvetica\", fontsize=10];\n"
		    "  edge [dir=none, color=\"#8090a0\", fontname=\"Helvetica\", "
		    "fontsize=8];\n");
	for (size_t i = 0; i < p->frame_count; i++)
		if (p->frames[i].used && p->frames[i].parent == FABRIC_NONE)
			write_frame(out, p, i, stack, 0);
	for (size_t i = 0; i < p->box_count; i++)
		if (p->boxes[i].frame == FABRIC_NONE)
			write_box(out, p, i, 2);
	for (size_t i = 0; i < p->frame_count; i++)
		if (p->frames[i].used)
			stack_frames(out, p, i, stack);
	write_edges(out, p);
	write_faults(out, p);
	io_add(out, "}\n");
}

char *graph_dot(const struct picture *p, const char *title, struct err *err)
{
	struct stack stack = { .row = calloc(p->box_count + p->frame_count + 1, sizeof(size_t)) };
	struct io_text out = { 0 };
	char *text;

	if (stack.row) {
		stack.columns = columns_of(p, stack.row);
		write_all(&out, p, &stack, title);
	}
	free(stack.row);
	text = io_end(&out);
	if (!text)
		err_set(err, ENOMEM, "out of memory");
	return text;
}
