/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cli_fabric.c - the fabric that a command works on, and the summary of what it did; see cli.h.
 *
 * A fabric is discovered, live or from recorded files, or it is read from fabric.json; the rest of
 * a command is the same for all three.
 */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "files.h"
#include "io.h"
#include "json.h"
#include "model.h"
#include "namemap.h"
#include "partitions.h"
#include "shape.h"

/* What an administrator gives beside the fabric itself. */
struct aids {
	struct namemap *names;
	struct partitions *partitions;
};

static void aids_free(struct aids *aids)
{
	namemap_free(aids->names);
	partitions_free(aids->partitions);
}

static int read_aids(const struct options *o, struct aids *aids, struct notes *notes,
		     struct err *err)
{
	char *text = NULL;
	size_t len;
	int rc = 0;

	if (o->names && (rc = io_read(o->names, NAMEMAP_MAX_BYTES, &text, &len, err)) == 0) {
		aids->names = namemap_parse(text, len, o->names, notes, err);
		rc = aids->names ? 0 : -EINVAL;
		free(text);
	}
	if (rc == 0 && o->partitions &&
	    (rc = io_read(o->partitions, PARTITIONS_MAX_BYTES, &text, &len, err)) == 0) {
		aids->partitions = partitions_parse(text, len, o->partitions, err);
		rc = aids->partitions ? 0 : -EINVAL;
		free(text);
	}
	return rc;
}

/* The fabric of s and of what was there before and is absent. */
static struct fabric *build(const char *how, const char *source, struct outcome *out,
			    struct subnet *s, const struct model_options *choice, struct err *err)
{
	int64_t now_ns = io_now_ns();

	out->absent.now_ns = now_ns;
	if (out->was) {
		struct notes ignored = { 0 }; /* they are told again below */
		struct fabric *now = model_build(s, how, source, now_ns, choice, &ignored, err);
		int rc = now ? absent_keep(s, now, out->was, &out->absent, &out->notes) : -ENOMEM;
		notes_clear(&ignored);
		fabric_free(now);
		if (rc < 0) {
			err_set(err, ENOMEM, "out of memory");
			return NULL;
		}
	}
	return model_build(s, how, source, now_ns, choice, &out->notes, err);
}

int discover(const struct options *o, struct outcome *out)
{
	struct model_options choice = { o->picks, o->pick_count, NULL,
					o->directors && strcmp(o->directors, "one") == 0 };
	struct live_options live = o->live;
	struct aids aids = { NULL, NULL };
	struct err err = { "" };
	struct subnet *s = NULL;
	char *source = NULL;

	if (read_aids(o, &aids, &out->notes, &err) == 0) {
		live.names = aids.names;
		live.was = out->was;
		choice.partitions = aids.partitions;
		s = o->from_count ? files_read(o->from, o->from_count, aids.names, &source, &err)
				  : live_discover(&live, &source, &err);
	}
	if (s) {
		out->fabric = build(o->from_count ? "file" : "live", source, out, s, &choice, &err);
		out->warnings = s->warnings; /* taken over */
		memset(&s->warnings, 0, sizeof(s->warnings));
	}
	subnet_free(s);
	aids_free(&aids);
	free(source);
	if (out->fabric)
		return DONE;
	say("%s", err.text);
	return FAILED;
}

int read_fabric(const struct options *o, struct outcome *out)
{
	struct err err = { "" };
	struct conf *conf = NULL;

	if (!o->fabric && !(conf = conf_load(conf_default_path(), true, &err))) {
		say("%s", err.text);
		return FAILED;
	}
	out->fabric = fabric_load(o->fabric ? o->fabric : conf->fabric_json, &err);
	conf_free(conf);
	if (out->fabric)
		return DONE;
	say("%s", err.text);
	return FAILED;
}

int read_nodes(const struct options *o, struct wanted_list *wanted)
{
	struct err err = { "" };
	struct conf *conf = NULL;
	int rc;

	if (!o->nodes)
		return DONE;
	if (!wants_slurm(o)) {
		rc = wanted_parse(wanted, o->nodes, &err);
	} else if (o->slurm_conf) {
		rc = wanted_load(wanted, o->slurm_conf, &err);
	} else {
		conf = conf_load(conf_default_path(), true, &err);
		rc = conf ? wanted_load(wanted, conf->slurm_conf, &err) : -EINVAL;
		conf_free(conf);
	}
	if (rc == 0)
		return DONE;
	say("--nodes: %s", err.text);
	return wants_slurm(o) ? FAILED : WRONG_USE;
}

int judge(const struct options *o, struct outcome *out)
{
	const struct fabric *f = out->fabric;

	if (shape_check(f, &out->notes) < 0) {
		say("out of memory");
		return FAILED;
	}
	say_all("", out->warnings.lines, out->warnings.kept, out->warnings.total);
	say_all("", out->notes.lines, out->notes.kept, out->notes.total);
	say_all("missing: ", f->missing, f->missing_count, f->missing_count);
	if (f->host_count == 0) {
		say("nothing to write: there is no host with a cable and a name among %zu switches "
		    "and %zu ports",
		    f->switch_count, f->port_count);
		return NOTHING;
	}
	if (o->pick_count && f->unit_count == 0) {
		say("nothing to write: no host has a port that counts; see --only and --skip");
		return NOTHING;
	}
	if (f->missing_count && !o->accept_partial) {
		say("the discovery is incomplete, nothing is written; discover again, with a "
		    "longer "
		    "--timeout if packets were lost; --accept-partial writes it nevertheless");
		return INCOMPLETE;
	}
	return DONE;
}

static int put_lines(json_object *top, const char *key, char *const *lines, size_t count)
{
	json_object *array = json_object_new_array();

	if (!array || json_object_object_add(top, key, array) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (json_object_array_add(array, json_object_new_string(lines[i])) != 0)
			return -ENOMEM;
	return 0;
}

static int put_summary(json_object *top, const struct options *o, const struct outcome *out,
		       int status)
{
	const struct fabric *f = out->fabric;
	const struct {
		const char *key;
		size_t value;
	} counts[] = {
		{ "switches", f->switch_count }, { "links", f->link_count },
		{ "ports", f->port_count },	 { "hosts", f->host_count },
		{ "units", f->unit_count },	 { "pods", f->pod_count },
		{ "areas", f->area_count },	 { "islands", f->island_count },
	};
	int rc = json_put_string(top, "command", out->command);

	if (rc == 0)
		rc = json_put_string(top, "output", o->output);
	if (rc == 0)
		rc = json_put_int(top, "status", status);
	if (rc == 0)
		rc = json_put_bool(top, "written", status == DONE && out->changed);
	for (size_t i = 0; rc == 0 && i < sizeof(counts) / sizeof(counts[0]); i++)
		rc = json_put_u64(top, counts[i].key, counts[i].value);
	if (rc == 0 && out->tree.unplaced)
		rc = json_put_string(top, "unplaced", out->tree.unplaced);
	if (rc == 0 && out->tree.unknown)
		rc = json_put_string(top, "unknown", out->tree.unknown);
	if (rc == 0)
		rc = put_lines(top, "missing", f->missing, f->missing_count);
	if (rc == 0)
		rc = put_lines(top, "notes", out->notes.lines, out->notes.kept);
	return rc < 0 ? rc : put_lines(top, "warnings", out->warnings.lines, out->warnings.kept);
}

static int print_summary(const struct options *o, const struct outcome *out, int status)
{
	json_object *top = json_object_new_object();
	char *text = top && put_summary(top, o, out, status) == 0 ? json_text(top) : NULL;

	json_object_put(top);
	if (!text)
		say("out of memory");
	else if (print(text) != DONE)
		status = FAILED;
	free(text);
	return text ? status : FAILED;
}

static void outcome_clear(struct outcome *out)
{
	fabric_free(out->fabric);
	notes_clear(&out->warnings);
	notes_clear(&out->notes);
	tree_report_clear(&out->tree);
}

int finish(struct options *o, struct outcome *out, int status)
{
	if (o->json && out->fabric)
		status = print_summary(o, out, status);
	outcome_clear(out);
	free(o->target);
	return status;
}
