/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_diff.c - sfabric-topology diff: what moved between two topology files or snapshots.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "cli_slurm.h"
#include "diff.h"
#include "io.h"
#include "json.h"

enum { SAME = 0, DIFFERS = 1 };

static const char diff_help[] = "Usage: sfabric-topology diff [OPTION]... OLD NEW\n"
				"Says what moved between two files, each a topology.conf, a "
				"topology.yaml or a fabric.json,\n"
				"and whether slurmctld needs a reconfigure or a restart.\n"
				"\n"
				"      --json    the changes as JSON\n"
				"  -h, --help    this text\n"
				"\n"
				"Exit status: 0 nothing changed for Slurm, 1 something did, 2 "
				"wrong use, 4 an input could not\n"
				"be read.\n";

static const struct option diff_options[] = {
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static const struct command diff_command = {
	.help = diff_help,
	.letters = "h",
	.options = diff_options,
	.files = 2,
};

struct file {
	struct layout layout;
	struct fabric *fabric; /* NULL: it is none */
};

/* A snapshot as the tree that would be made of it. */
static int read_snapshot(const char *path, const char *text, size_t len, struct file *file,
			 struct findings *findings)
{
	struct tree_report report;
	struct err err = { "" };
	char *tree = NULL;
	int status = FAILED;

	file->fabric = fabric_parse(text, len, path, &err);
	if (file->fabric) {
		tree = tree_conf_text(file->fabric, NULL, 0, false, "", "", &report, &err);
		tree_report_clear(&report);
	}
	if (tree)
		status = parse_layout("", tree, strlen(tree), &file->layout, findings);
	else
		say("%s", err.text);
	free(tree);
	return status;
}

static int read_file(const char *path, struct file *file)
{
	struct findings findings = { 0 };
	struct err err = { "" };
	char *text;
	size_t len, at = 0;
	int status;

	if (io_read(path, FABRIC_MAX_BYTES, &text, &len, &err) < 0) {
		say("%s", err.text);
		return FAILED;
	}
	while (isspace((unsigned char)text[at]))
		at++;
	status = text[at] == '{' ? read_snapshot(path, text, len, file, &findings)
				 : parse_layout(path, text, len, &file->layout, &findings);
	for (size_t i = 0; i < findings.count && status == DONE; i++)
		if (findings.all[i].fatal) {
			say("%s:%zu: %s", path, findings.all[i].line, findings.all[i].text);
			status = FAILED;
		}
	findings_clear(&findings);
	free(text);
	return status;
}

static const char *verdict(bool matters, bool restart)
{
	return restart	 ? "slurmctld must be restarted: its plugin changes"
	       : matters ? "scontrol reconfigure is enough"
			 : "nothing changed for Slurm";
}

static int print_changes(const struct findings *changes, bool matters, bool restart)
{
	for (size_t i = 0; i < changes->count; i++)
		printf("%s\n", changes->all[i].text);
	printf("%s\n", verdict(matters, restart));
	return print("");
}

static int print_json(const struct findings *changes, bool restart)
{
	json_object *top = json_object_new_object(), *array = json_object_new_array();
	int rc = top && array ? json_put_bool(top, "restart", restart) : -1;

	for (size_t i = 0; rc == 0 && i < changes->count; i++)
		rc = json_object_array_add(array, json_object_new_string(changes->all[i].text));
	return print_object(top, "changes", array, rc);
}

int cmd_diff(int argc, char **argv)
{
	struct file was = { 0 }, is = { 0 };
	struct findings changes = { 0 };
	bool restart = false;
	size_t of_fabric;
	struct options o;
	int status;

	if (!read_options(&diff_command, argc, argv, &o, NULL, &status))
		return status;
	if (o.file_count != 2) {
		say("diff takes two files; try --help");
		return WRONG_USE;
	}
	status = read_file(o.files[0], &was);
	if (status == DONE)
		status = read_file(o.files[1], &is);
	if (status == DONE && was.fabric && is.fabric)
		fabric_diff(was.fabric, is.fabric, &changes);
	of_fabric = changes.count;
	if (status == DONE && layout_diff(&was.layout, &is.layout, &changes, &restart) < 0) {
		say("out of memory");
		status = FAILED;
	}
	if (status == DONE)
		status = o.json ? print_json(&changes, restart)
				: print_changes(&changes, changes.count > of_fabric, restart);
	if (status == DONE)
		status = changes.count ? DIFFERS : SAME;
	findings_clear(&changes);
	layout_clear(&was.layout);
	layout_clear(&is.layout);
	fabric_free(was.fabric);
	fabric_free(is.fabric);
	return status;
}
