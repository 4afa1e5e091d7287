/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_graph.c - sfabric-topology graph: a picture of the fabric, for graphviz or as one HTML file.
 *
 * What a discovery lost is in the picture, so an incomplete fabric is drawn like any other.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "graph.h"
#include "io.h"
#include "picture.h"

static const char graph_help[] =
	"Usage: sfabric-topology graph [OPTION]...\n"
	"Draws the fabric, folded by unit, with slow and missing links marked.\n"
	"\n"
	"      --format dot|html  for graphviz's dot, or one file for a browser (default)\n"
	"      --fabric FILE      the fabric.json to use; default: fabric_json of fabric.conf\n"
	"      --from FILE        use recorded files instead, as discover does; with --names, "
	"--only\n"
	"                         and --skip\n"
	"  -o, --output FILE      replace FILE atomically, only if the text changed\n"
	"  -h, --help             this text\n" EXIT_HELP;

enum { OPT_FORMAT = OPT_OWN };

static const struct option graph_options[] = {
	DISCOVERY_OPTIONS,
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "output", required_argument, NULL, 'o' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static bool take(int c, void *own)
{
	bool *dot = own;

	(void)c;
	*dot = strcmp(optarg, "dot") == 0;
	if (*dot || strcmp(optarg, "html") == 0)
		return true;
	say("--format takes dot or html, not \"%s\"", optarg);
	return false;
}

static const struct command graph_command = {
	.help = graph_help,
	.letters = "o:h",
	.options = graph_options,
	.take = take,
};

static int draw(const struct options *o, bool dot, struct outcome *out)
{
	struct err err = { "out of memory" };
	char *title = io_format("fabric %s %s", out->fabric->how, out->fabric->source);
	struct picture *p = picture_make(out->fabric, &err);
	char *text = NULL;
	int status = FAILED;

	if (p && title)
		text = dot ? graph_dot(p, title, &err) : graph_html(p, title, &err);
	if (text)
		status = write_text(o, text, &out->changed);
	else
		say("%s", err.text);
	if (status == DONE && o->output)
		say("%zu units, %zu faults%s%s", out->fabric->unit_count, p->fault_count,
		    out->changed ? "; wrote " : "; unchanged: ", o->output);
	picture_free(p);
	free(title);
	free(text);
	return status;
}

int cmd_graph(int argc, char **argv)
{
	struct outcome out = { .command = "graph" };
	struct options o;
	bool dot = false;
	int status;

	if (!read_options(&graph_command, argc, argv, &o, &dot, &status))
		return status;
	o.accept_partial = true;
	status = check_output(&o);
	if (status == DONE)
		status = o.from_count ? discover(&o, &out) : read_fabric(&o, &out);
	if (status == DONE)
		status = judge(&o, &out);
	if (status == DONE)
		status = draw(&o, dot, &out);
	return finish(&o, &out, status);
}
