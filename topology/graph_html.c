/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * graph_html.c - a picture as one HTML file; see graph.h.
 *
 * The layout is made here: in a frame the switches stand in a row per level, highest on top, below
 * them the frames inside it, and then the units in a grid. Links to what is in the first row are
 * straight; others run down beside the boxes, so that no line crosses a box. The file refers to
 * nothing outside itself and forbids itself to. Its script only zooms and searches: without it all
 * is still there.
 */
#include "graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io.h"

enum {
	WIDTH = 186,  /* of a box */
	LINE = 15,    /* height of a line of text */
	GAP = 22,     /* between boxes of a row: links run there */
	ROWS = 34,    /* between rows */
	LEVELS = 62,  /* between a row of switches and what is below it */
	MARGIN = 16,  /* around what is in a frame */
	HEADLINE = 20 /* height of a frame's name */
};

#define NAMES_MAX 27 /* bytes of a line in a box */
#define ASPECT 1.7

struct place {
	int x, y, w, h;
	bool first; /* in the first row of what is below the switches of its frame */
};

struct page {
	const struct picture *p;
	struct io_text out;
	struct place *boxes, *frames;
	size_t *row; /* room for a row of boxes or frames */
};

/* Text in HTML, between tags and in attributes. */
static void add_escaped(struct io_text *out, const char *text)
{
	char *safe = io_printable(text);

	if (!safe) {
		out->failed = true;
		return;
	}
	for (const char *at = safe; *at;) {
		size_t plain = strcspn(at, "<>&\"'");
		io_add(out, "%.*s", (int)plain, at);
		at += plain;
		if (*at)
			io_add(out, "&#%d;", *at++);
	}
	free(safe);
}

/* Layout. */

static void count_line(struct io_text *out, const char *text, size_t number)
{
	(void)out;
	(void)text;
	(void)number;
	io_add(out, "x");
}

static int box_height(const struct picture *p, size_t box)
{
	struct io_text lines = { 0 };
	int height;

	graph_lines(p, box, NAMES_MAX, &lines, count_line);
	height = (int)lines.used * LINE + 10;
	free(io_end(&lines));
	return height;
}

/* Puts the boxes of page->row side by side; returns the height. */
static int lay_row(struct page *page, size_t count, int x, int y, int width, bool first)
{
	int used = (int)count * (WIDTH + GAP) - GAP, height = 0;

	x += (width - used) / 2;
	for (size_t i = 0; i < count; i++) {
		struct place *at = &page->boxes[page->row[i]];
		*at = (struct place){ x, y, WIDTH, box_height(page->p, page->row[i]), first };
		x += WIDTH + GAP;
		if (at->h > height)
			height = at->h;
	}
	return height;
}

/* How wide a frame's own boxes want to be. */
static int own_width(struct page *page, size_t frame, size_t *columns)
{
	size_t widest = 1, units = picture_boxes(page->p, frame, PICTURE_UNITS, page->row);

	*columns = graph_columns(units, WIDTH + GAP, 5 * LINE + ROWS, ASPECT);
	for (int level = picture_top(page->p, frame); level > PICTURE_UNITS; level--) {
		size_t count = picture_boxes(page->p, frame, level, page->row);
		if (count > widest)
			widest = count;
	}
	if (units <= PICTURE_MANY || *columns < widest)
		*columns = units <= PICTURE_MANY ? units : widest;
	if (*columns > widest)
		widest = *columns;
	return (int)widest * (WIDTH + GAP) - GAP;
}

static void measure(struct page *page, size_t frame);

/* Puts frames side by side, in rows that are no wider than wish if that can be. */
static void wrap(struct page *page, const size_t *frames, size_t count, int wish, int *width,
		 int *height)
{
	int x = 0, y = 0, high = 0;

	*width = 0;
	for (size_t i = 0; i < count; i++) {
		struct place *at = &page->frames[frames[i]];
		if (x && x + at->w > wish) {
			x = 0;
			y += high + GAP;
			high = 0;
		}
		at->x = x;
		at->y = y;
		at->first = y == 0;
		x += at->w + GAP;
		if (x - GAP > *width)
			*width = x - GAP;
		if (at->h > high)
			high = at->h;
	}
	*height = y + high;
}

/* How far a size is from one for a screen; 1: not at all. */
static double misfit(int width, int height)
{
	double is = (double)width / height / ASPECT;

	return is < 1 ? 1 / is : is;
}

/* Frames in as many rows as make a picture for a screen; *width grows to theirs. */
static int flow(struct page *page, const size_t *frames, size_t count, int *width)
{
	int wish = 0, best = 0, w, h;
	double least = 0;

	for (size_t i = 0; i < count; i++)
		measure(page, frames[i]);
	for (size_t i = 0; i < count; i++) {
		wish += page->frames[frames[i]].w + GAP;
		wrap(page, frames, count, wish, &w, &h);
		if (i == 0 || misfit(w, h) < least) {
			least = misfit(w, h);
			best = wish;
		}
	}
	wrap(page, frames, count, best, &w, &h);
	if (w > *width)
		*width = w;
	return h;
}

/* Moves everything in a frame to where the frame is. */
static void move(struct page *page, size_t frame, int x, int y)
{
	const struct picture *p = page->p;

	for (size_t i = 0; i < p->box_count; i++) {
		if (p->boxes[i].frame != frame)
			continue;
		page->boxes[i].x += x;
		page->boxes[i].y += y;
	}
	for (size_t i = frame + 1; i < p->frame_count; i++) {
		if (!p->frames[i].used || p->frames[i].parent != frame)
			continue;
		page->frames[i].x += x;
		page->frames[i].y += y;
		move(page, i, x, y);
	}
}

/* Lays out a frame at 0, 0 and tells how large it is. */
static void measure(struct page *page, size_t frame)
{
	const struct picture *p = page->p;
	size_t columns, count, *children = calloc(p->frame_count + 1, sizeof(*children));
	int width = own_width(page, frame, &columns), y = HEADLINE + MARGIN, frames_high = 0;

	if (!children) {
		page->out.failed = true;
		return;
	}
	count = picture_frames(p, frame, children);
	if (count)
		frames_high = flow(page, children, count, &width);
	for (int level = picture_top(p, frame); level > PICTURE_UNITS; level--) {
		size_t row = picture_boxes(page->p, frame, level, page->row);
		if (row)
			y += lay_row(page, row, MARGIN + GAP, y, width, true) + LEVELS;
	}
	for (size_t i = 0; i < count; i++) {
		struct place *at = &page->frames[children[i]];
		at->x += MARGIN + GAP;
		at->y += y;
		move(page, children[i], at->x, at->y);
	}
	y += count ? frames_high + ROWS : 0;
	count = picture_boxes(page->p, frame, PICTURE_UNITS, page->row);
	for (size_t i = 0; columns && i < count; i += columns) {
		size_t n = count - i < columns ? count - i : columns;
		picture_boxes(page->p, frame, PICTURE_UNITS, page->row);
		memmove(page->row, page->row + i, n * sizeof(*page->row));
		y += lay_row(page, n, MARGIN + GAP, y,
			     count > columns ? (int)n * (WIDTH + GAP) - GAP : width, i == 0) +
		     ROWS;
	}
	free(children);
	page->frames[frame] = (struct place){ 0, 0, width + 2 * (MARGIN + GAP), y, true };
}

/* All of it: *width and *height of the drawing. */
static int lay_out(struct page *page, int *width, int *height)
{
	const struct picture *p = page->p;
	size_t *islands = calloc(p->frame_count + 1, sizeof(*islands)), count;
	int loose = 0;

	if (!islands)
		return -ENOMEM;
	*width = 0;
	count = picture_frames(p, FABRIC_NONE, islands);
	*height = count ? flow(page, islands, count, width) + ROWS : 0;
	for (size_t i = 0; i < count; i++)
		move(page, islands[i], page->frames[islands[i]].x, page->frames[islands[i]].y);
	for (int i = 0, x = 0; i < (int)p->box_count; i++) {
		if (p->boxes[i].frame != FABRIC_NONE)
			continue;
		page->boxes[i] = (struct place){ x, *height, WIDTH, box_height(p, i), true };
		x += WIDTH + GAP;
		if (x > *width)
			*width = x;
		if (page->boxes[i].h > loose)
			loose = page->boxes[i].h;
	}
	*height += loose;
	free(islands);
	return 0;
}

/* Drawing. */

static void draw_frames(struct page *page)
{
	const struct picture *p = page->p;

	for (size_t i = 0; i < p->frame_count; i++) {
		const struct place *at = &page->frames[i];
		if (!p->frames[i].used)
			continue;
		io_add(&page->out,
		       "<g class=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
		       "rx=\"8\"/><text x=\"%d\" y=\"%d\">%s ",
		       p->frames[i].kind, at->x, at->y, at->w, at->h, at->x + 10, at->y + 17,
		       p->frames[i].kind);
		add_escaped(&page->out, p->frames[i].name);
		io_add(&page->out, "</text></g>\n");
	}
}

/* Where a link can go down to its lower end: NULL: straight; else to the left of this place. */
static const struct place *channel(const struct page *page, const struct picture_edge *e)
{
	const struct picture *p = page->p;
	const struct place *beside = page->boxes[e->lower].first ? NULL : &page->boxes[e->lower];

	for (size_t at = p->boxes[e->lower].frame;
	     at != FABRIC_NONE && at != p->boxes[e->upper].frame; at = p->frames[at].parent)
		if (!page->frames[at].first)
			beside = &page->frames[at];
	return beside;
}

/* Straight, or by a channel: across above the boxes, down beside them, and into the box's top. */
static void draw_path(struct page *page, const struct picture_edge *e)
{
	const struct place *up = &page->boxes[e->upper], *low = &page->boxes[e->lower];
	const struct place *beside = channel(page, e);
	int x = up->x + up->w / 2, y = up->y + up->h, to = low->x + low->w / 2;

	if (up->y == low->y) { /* neighbours of a level: below them */
		io_add(&page->out, "M%d %dV%dH%dV%d", x, y, y + LEVELS / 3, to, low->y + low->h);
	} else if (!beside) {
		io_add(&page->out, "M%d %dL%d %d", x, y, to, low->y);
	} else {
		io_add(&page->out, "M%d %dV%dH%dV%dH%dV%d", x, y, y + LEVELS / 2,
		       beside->x - GAP / 2, low->y - ROWS / 2, to, low->y);
	}
}

static void draw_edge(struct page *page, const struct picture_edge *e)
{
	const struct place *up = &page->boxes[e->upper], *low = &page->boxes[e->lower];
	bool labelled = e->faults || page->p->edge_count <= 40;
	int x = low->x + low->w / 2, y = low->y - 6;

	io_add(&page->out, "<g class=\"edge%s\" data-a=\"%zu\" data-b=\"%zu\"><path d=\"",
	       e->faults ? " bad" : "", e->upper, e->lower);
	draw_path(page, e);
	io_add(&page->out, "\"><title>%s</title></path>", e->wires);
	if (labelled && !channel(page, e) && up->y != low->y) {
		x += (up->x + up->w / 2 - x) / 3;
		y = low->y - (low->y - up->y - up->h) / 3;
	}
	if (labelled)
		io_add(&page->out, "<text x=\"%d\" y=\"%d\">%s</text>", x, y, e->wires);
	io_add(&page->out, "</g>\n");
}

/* Those with faults last: nothing hides them. */
static void draw_edges(struct page *page)
{
	for (int bad = 0; bad < 2; bad++)
		for (size_t i = 0; i < page->p->edge_count; i++)
			if ((page->p->edges[i].faults > 0) == (bad == 1))
				draw_edge(page, &page->p->edges[i]);
}

/* What the search finds a box by: a folded list does not show each name. */
static void add_search(struct page *page, size_t box)
{
	const struct picture *p = page->p;
	const struct fabric *f = p->f;

	if (p->boxes[box].kind != PICTURE_SWITCHES)
		for (size_t i = 0; i < f->host_count; i++)
			if (f->hosts[i].unit ==
			    (p->boxes[box].kind == PICTURE_UNIT ? box : FABRIC_NONE)) {
				add_escaped(&page->out, f->hosts[i].name);
				io_add(&page->out, " ");
			}
	for (size_t i = 0; i < f->switch_count; i++)
		if (p->switch_box[i] == box) {
			add_escaped(&page->out, f->switches[i].name);
			io_add(&page->out, " ");
		}
}

static void add_tooltip(struct page *page, size_t box)
{
	const struct picture *p = page->p;

	add_escaped(&page->out, p->boxes[box].names);
	if (p->boxes[box].leaf_count) {
		io_add(&page->out, "&#10;leaves: ");
		add_escaped(&page->out, p->boxes[box].leaves);
	}
	for (size_t i = 0; i < p->fault_count; i++) {
		if (p->faults[i].box != box)
			continue;
		io_add(&page->out, "&#10;");
		add_escaped(&page->out, p->faults[i].text);
	}
}

static void draw_line(struct io_text *out, const char *text, size_t number)
{
	io_add(out, "<tspan x=\"0\" dy=\"%d\"%s>", LINE, number ? "" : " class=\"name\"");
	add_escaped(out, text);
	io_add(out, "</tspan>");
}

static bool is_missing(const struct picture *p, size_t box)
{
	for (size_t i = 0; i < p->fault_count; i++)
		if (p->faults[i].box == box && p->faults[i].missing)
			return true;
	return false;
}

static void draw_boxes(struct page *page)
{
	static const char *const classes[] = { "unit", "switches", "loose" };
	const struct picture *p = page->p;

	for (size_t i = 0; i < p->box_count; i++) {
		const struct place *at = &page->boxes[i];
		io_add(&page->out, "<g id=\"b%zu\" class=\"box %s%s%s\" data-names=\"", i,
		       classes[p->boxes[i].kind], p->boxes[i].faults ? " bad" : "",
		       p->boxes[i].faults && is_missing(p, i) ? " missing" : "");
		add_search(page, i);
		io_add(&page->out,
		       "\"><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>"
		       "<text transform=\"translate(%d %d)\">",
		       at->x, at->y, at->w, at->h, at->x + 7, at->y + 2);
		graph_lines(p, i, NAMES_MAX, &page->out, draw_line);
		io_add(&page->out, "</text><title>");
		add_tooltip(page, i);
		io_add(&page->out, "</title></g>\n");
	}
}

static void write_faults(struct page *page)
{
	const struct picture *p = page->p;
	size_t shown = p->fault_count < GRAPH_FAULTS ? p->fault_count : GRAPH_FAULTS;

	if (p->fault_count == 0)
		io_add(&page->out,
		       "<p>No link is slower than its peers, nothing is missing.</p>\n");
	else
		io_add(&page->out, "<details open><summary>%zu fault%s</summary><ul>\n",
		       p->fault_count, p->fault_count == 1 ? "" : "s");
	for (size_t i = 0; i < shown; i++) {
		io_add(&page->out, "<li>");
		if (p->faults[i].box != FABRIC_NONE)
			io_add(&page->out, "<a href=\"#b%zu\">", p->faults[i].box);
		add_escaped(&page->out, p->faults[i].text);
		io_add(&page->out, p->faults[i].box != FABRIC_NONE ? "</a></li>\n" : "</li>\n");
	}
	if (shown < p->fault_count)
		io_add(&page->out, "<li>and %zu more, at their boxes</li>\n",
		       p->fault_count - shown);
	if (p->fault_count)
		io_add(&page->out, "</ul></details>\n");
}

static const char style[] =
	"body{font:14px/1.4 sans-serif;margin:1em;color:#1c2733;background:#fff}\n"
	"h1{font-size:1.2em;margin:0 0 .3em}p,details{margin:.3em 0}\n"
	"ul{margin:.2em 0;max-height:9em;overflow:auto}li a{color:#a00000}\n"
	"input{width:22em}svg{width:100%;height:80vh;border:1px solid #ccd;cursor:grab}\n"
	"svg text{font:11px sans-serif;fill:#1c2733}.name{font-weight:bold}\n"
	"g>rect{fill:#fff;stroke:#b8c4d0}.island>rect{fill:#fafbfc}.area>rect{fill:#f4f6f8}\n"
	".pod>rect{fill:#f0f3f6}.island>text,.area>text,.pod>text{font-size:12px;fill:#5a6b7c}\n"
	".unit>rect{fill:#eaf2fb;stroke:#7f9fc4}.switches>rect{fill:#e4e4e4;stroke:#8a8a8a}\n"
	".loose>rect{stroke-dasharray:5 3}.bad>rect{stroke:#c00000;stroke-width:2}\n"
	".missing>rect{stroke-dasharray:5 3}\n"
	".edge path{fill:none;stroke:#9aa9b8}.edge text{font-size:9px;fill:#5a6b7c;text-anchor:"
	"middle;paint-order:stroke;stroke:#fff;stroke-width:3px}\n"
	".edge.bad path{stroke:#c00000;stroke-width:2}.edge.bad text{fill:#c00000}\n"
	".box:target>rect,.hit>rect{fill:#ffe9a8;stroke-width:3}\n"
	".edge.hit path{stroke:#d08000;stroke-width:3}.dim .box:not(.hit){opacity:.35}\n";

static const char script[] =
	"var s=document.querySelector('svg'),v=s.viewBox.baseVal,q=document.querySelector('input'),"
	"at=null;\n"
	"function all(c,f){document.querySelectorAll(c).forEach(f)}\n"
	"s.addEventListener('wheel',function(e){e.preventDefault();"
	"var k=e.deltaY>0?1.2:1/1.2,p=new DOMPoint(e.clientX,e.clientY)"
	".matrixTransform(s.getScreenCTM().inverse());"
	"v.x=p.x-(p.x-v.x)*k;v.y=p.y-(p.y-v.y)*k;v.width*=k;v.height*=k},{passive:false});\n"
	"s.addEventListener('pointerdown',function(e){at=e});\n"
	"window.addEventListener('pointerup',function(){at=null});\n"
	"s.addEventListener('pointermove',function(e){if(!at)return;var k=1/s.getScreenCTM().a;"
	"v.x-=(e.clientX-at.clientX)*k;v.y-=(e.clientY-at.clientY)*k;at=e});\n"
	"q.addEventListener('input',function(){var t=q.value.trim().toLowerCase();"
	"s.classList.toggle('dim',!!t);all('.box',function(b){b.classList.toggle('hit',"
	"!!t&&b.dataset.names.toLowerCase().indexOf(t)>=0)})});\n"
	"all('.box',function(b){b.addEventListener('click',function(){var n=b.id.slice(1);"
	"all('.edge',function(e){e.classList.toggle('hit',e.dataset.a===n||e.dataset.b===n)})})});"
	"\n";

static void write_head(struct page *page, const char *title, int width, int height)
{
	const struct fabric *f = page->p->f;
	struct io_text *out = &page->out;

	io_add(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>");
	add_escaped(out, title);
	io_add(out, "</title>\n<style>\n%s</style></head><body>\n<h1>", style);
	add_escaped(out, title);
	io_add(out, "</h1>\n<p>%zu hosts in %zu units, %zu switches, %zu links between switches. ",
	       f->host_count, f->unit_count, f->switch_count, f->link_count);
	io_add(out, "<input type=\"search\" placeholder=\"find a host or switch\"> "
		    "Wheel: zoom. Drag: move. Click a box: its links.</p>\n");
	write_faults(page);
	io_add(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-10 -10 %d %d\">\n",
	       width + 20, height + 20);
}

char *graph_html(const struct picture *p, const char *title, struct err *err)
{
	struct page page = { .p = p };
	int width, height, rc = -ENOMEM;
	char *text;

	page.boxes = calloc(p->box_count + 1, sizeof(*page.boxes));
	page.frames = calloc(p->frame_count + 1, sizeof(*page.frames));
	page.row = calloc(p->box_count + 1, sizeof(*page.row));
	if (page.boxes && page.frames && page.row)
		rc = lay_out(&page, &width, &height);
	if (rc == 0) {
		write_head(&page, title, width, height);
		draw_frames(&page);
		draw_edges(&page);
		draw_boxes(&page);
		io_add(&page.out, "</svg>\n<script>\n%s</script>\n</body></html>\n", script);
	}
	free(page.boxes);
	free(page.frames);
	free(page.row);
	text = io_end(&page.out);
	if (rc == 0 && text)
		return text;
	free(text);
	err_set(err, ENOMEM, "out of memory");
	return NULL;
}
