/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_apply.c - sfabric-topology apply: puts a topology file in force, or leaves all as it was.
 *
 * In this order: the file is checked against slurm.conf; what runs is asked for, and a file for
 * another plugin refused; the old file is kept beside it; the new one takes its place atomically;
 * slurmctld reads it and is asked what it has. If that is not what the file says, the old one is
 * put back. Whenever it is interrupted, the file in place is one that slurmctld takes. Two at a
 * time would take each other's file for the old one: slurm.conf is locked meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "cli_slurm.h"
#include "conf.h"
#include "diff.h"
#include "hosts.h"
#include "io.h"

#define RECONFIGURE_S 300 /* distances between many switches take their time */
#define SHOW_S 60
#define VERIFY_TRIES 20 /* a second each: reconfiguring may go on in the background */

enum { REFUSED = 3 };

static const char apply_help[] =
	"Usage: sfabric-topology apply --conf FILE [OPTION]...\n"
	"Checks a topology.conf or topology.yaml, installs it, lets slurmctld read it, and "
	"verifies\n"
	"that slurmctld has what it says; if not, the old file is put back.\n"
	"\n"
	"      --conf FILE        the file to install\n"
	"      --to FILE          where; default: topology.conf or topology.yaml beside "
	"slurm.conf\n"
	"      --slurm RELEASE    the release of slurmctld; default: the installed one\n"
	"      --slurm-conf FILE  default: where fabric.conf or Slurm has it\n"
	"      --dry-run          only say what would change\n"
	"  -h, --help             this text\n"
	"\n"
	"Exit status: 0 slurmctld has it, 2 wrong use, 3 the file was refused and nothing changed, "
	"4 it\n"
	"could not be installed or slurmctld did not take it, and the old one is in place.\n";

enum { OPT_CONF = OPT_OWN, OPT_TO, OPT_SLURM, OPT_DRY_RUN };

static const struct option apply_options[] = {
	{ "conf", required_argument, NULL, OPT_CONF },
	{ "to", required_argument, NULL, OPT_TO },
	{ "slurm", required_argument, NULL, OPT_SLURM },
	{ "slurm-conf", required_argument, NULL, OPT_SLURM_CONF },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct apply {
	const char *conf, *to, *slurm;
	bool dry_run;
	char *slurm_conf; /* path, for Slurm's tools too */
	char *text, *old; /* of the new file and the one in place (NULL: none) */
	size_t len, old_len;
	bool old_is_bad; /* slurmctld would refuse it, so it is never put back */
	int release;
	mode_t mode;
	struct layout layout; /* of the new file */
	struct wanted_list nodes;
};

static bool take_apply_option(int c, void *own)
{
	struct apply *a = own;

	if (c == OPT_CONF)
		a->conf = optarg;
	else if (c == OPT_TO)
		a->to = optarg;
	else if (c == OPT_SLURM)
		a->slurm = optarg;
	else
		return a->dry_run = c == OPT_DRY_RUN;
	return true;
}

static const struct command apply_command = {
	.help = apply_help,
	.letters = "h",
	.options = apply_options,
	.take = take_apply_option,
};

/* Where slurm.conf is: as read_slurmconf() looks for it. */
static int find_slurm_conf(const struct options *o, struct apply *a)
{
	struct err err = { "" };
	struct conf *conf = conf_load(conf_default_path(), true, &err);
	const char *named = o->slurm_conf;

	if (!named && !conf) {
		say("%s", err.text);
		return FAILED;
	}
	if (!named && *conf->slurm_conf)
		named = conf->slurm_conf;
	if (!named)
		named = getenv("SLURM_CONF");
	a->slurm_conf = strdup(named && *named ? named : "/etc/slurm/slurm.conf");
	conf_free(conf);
	if (a->slurm_conf && setenv("SLURM_CONF", a->slurm_conf, 1) == 0)
		return DONE;
	say("out of memory");
	return FAILED;
}

/*
 * Locks slurm.conf, which is there in any case and needs no removing: the descriptor, or -1 after
 * saying why. Locks of NFS want a file that is open for writing.
 */
static int lock_slurm_conf(const struct apply *a)
{
	int fd = open(a->slurm_conf, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fd = open(a->slurm_conf, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	if (fd >= 0 && errno == EWOULDBLOCK)
		say("another apply is at work here (%s is locked); nothing is changed",
		    a->slurm_conf);
	else
		say("%s can't be locked: %s", a->slurm_conf, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

/* --to, or the file beside slurm.conf. */
static int find_target(struct options *o, struct apply *a, char **target)
{
	const char *slash = strrchr(a->slurm_conf, '/');
	int dir = slash ? (int)(slash - a->slurm_conf) + 1 : 0;

	*target = a->to ? strdup(a->to)
			: io_format("%.*stopology.%s", dir, a->slurm_conf,
				    a->layout.yaml ? "yaml" : "conf");
	if (!*target) {
		say("out of memory");
		return FAILED;
	}
	o->output = *target;
	return check_output(o);
}

/* Refuses what slurmctld would, and a file that says nothing. */
static int check(struct apply *a, const struct slurmconf *slurm, struct findings *findings)
{
	struct check_options options = { a->release, &a->nodes, slurm, NULL };
	const char *plugin = slurm->topology_plugin ? slurm->topology_plugin : "topology/flat";
	size_t items = 0;

	if (layout_check(&a->layout, &options, findings) < 0) {
		say("out of memory");
		return FAILED;
	}
	for (size_t i = 0; i < a->layout.count; i++)
		items += a->layout.topologies[i].count;
	for (size_t i = 0; i < findings->count; i++)
		say("%s:%zu: %s: %s", a->conf, findings->all[i].line,
		    findings->all[i].fatal ? "refused" : "warning", findings->all[i].text);
	plugin += strncmp(plugin, "topology/", 9) == 0 ? 9 : 0;
	if (findings->fatal)
		say("slurmctld would not start with %s", a->conf);
	else if (items == 0)
		say("%s says nothing", a->conf);
	else if (!a->layout.yaml &&
		 strcmp(plugin, layout_kind_name(a->layout.topologies[0].kind)) != 0)
		say("%s has TopologyPlugin=topology/%s, and that does not read %s", a->slurm_conf,
		    plugin, a->conf);
	else
		return DONE;
	say("nothing is changed");
	return REFUSED;
}

/* Reads the new file, and slurm.conf, and checks. */
static int prepare(struct apply *a)
{
	struct findings findings = { 0 };
	struct slurmconf slurm;
	struct err err = { "" };
	int status = FAILED;

	if (slurmconf_load(a->slurm_conf, &slurm, &err) < 0 ||
	    wanted_load(&a->nodes, a->slurm_conf, &err) < 0 ||
	    io_read(a->conf, LAYOUT_MAX_BYTES, &a->text, &a->len, &err) < 0)
		say("%s", err.text);
	else
		status = parse_layout(a->conf, a->text, a->len, &a->layout, &findings);
	if (status == DONE)
		status = check(a, &slurm, &findings);
	findings_clear(&findings);
	slurmconf_clear(&slurm);
	return status;
}

/* Says what changes against the file in place; a change of plugin is refused. */
static int compare(const struct options *o, struct apply *a)
{
	struct check_options options = { a->release, &a->nodes, NULL, NULL };
	struct findings changes = { 0 }, ignored = { 0 };
	struct layout was = { 0 };
	bool restart = false;
	struct stat st;
	int status = DONE;

	a->mode = stat(o->target, &st) == 0 ? st.st_mode & 0777 : 0644;
	if (io_read(o->target, LAYOUT_MAX_BYTES, &a->old, &a->old_len, NULL) < 0) {
		if (access(o->target, F_OK) == 0) {
			say("%s: can't be read, so it could not be put back", o->target);
			return FAILED;
		}
		a->old = NULL;
		say("%s is not there yet", o->target);
		return DONE;
	}
	status = parse_layout(o->target, a->old, a->old_len, &was, &ignored);
	if (status == DONE && layout_check(&was, &options, &ignored) < 0)
		status = FAILED;
	a->old_is_bad = ignored.fatal > 0;
	if (status == DONE && layout_diff(&was, &a->layout, &changes, &restart) < 0)
		status = FAILED;
	for (size_t i = 0; i < changes.count; i++)
		say("%s", changes.all[i].text);
	if (status == DONE && restart && was.topologies && was.topologies[0].count) {
		say("slurmctld would have to be restarted for it; nothing is changed");
		status = REFUSED;
	}
	findings_clear(&changes);
	findings_clear(&ignored);
	layout_clear(&was);
	return status;
}

/* Keeps those of a host list that Slurm has, as `scontrol show topology` does. */
static int keep_known(const struct wanted_list *known, char **nodes)
{
	struct layout_name *sorted = calloc(known->count + 1, sizeof(*sorted));
	char **names = NULL, *folded = NULL;
	const char **kept = NULL;
	size_t count = 0, n = 0;

	for (size_t i = 0; sorted && i < known->count; i++)
		sorted[i] = (struct layout_name){ known->nodes[i].name, i };
	if (sorted)
		layout_sort(sorted, known->count);
	if (sorted && hosts_expand(*nodes, WANTED_MAX, &names, &count, NULL) == 0)
		kept = calloc(count + 1, sizeof(*kept));
	for (size_t i = 0; kept && i < count; i++)
		if (layout_find(sorted, known->count, names[i]) != LAYOUT_NO_ITEM)
			kept[n++] = names[i];
	if (kept)
		folded = hosts_fold(kept, n);
	free(sorted);
	free(kept);
	hosts_free(names, count);
	if (!folded)
		return -ENOMEM;
	free(*nodes);
	*nodes = folded;
	return 0;
}

/* Brings the new file to what slurmctld shows of it: only nodes it knows, on leaves. */
static int expect(struct apply *a)
{
	int rc = 0;

	for (size_t i = 0; i < a->layout.count; i++)
		for (size_t j = 0; rc == 0 && j < a->layout.topologies[i].count; j++)
			if (a->layout.topologies[i].items[j].nodes)
				rc = keep_known(&a->nodes, &a->layout.topologies[i].items[j].nodes);
	return rc;
}

/* Whether slurmctld has that topology, the only one or of that name. */
static bool shows(const struct layout_topology *t)
{
	const char *const ask[] = { "scontrol", "show", "topology", t->name, NULL };
	struct layout one = { .topologies = (struct layout_topology *)t, .count = 1 },
		      shown = { 0 };
	struct findings changes = { 0 }, ignored = { 0 };
	bool restart = false, same = false;
	char *said = NULL;

	if (slurm_run(ask, SHOW_S, &said) == 0 &&
	    layout_parse_shown(said, strlen(said), &shown, &ignored) == 0) {
		struct layout_topology *s = &shown.topologies[0];
		for (size_t i = 0; i < s->count; i++)
			if (s->items[i].children) { /* all nodes below it are shown, too */
				free(s->items[i].nodes);
				s->items[i].nodes = NULL;
			}
		memcpy(s->sizes, t->sizes, sizeof(s->sizes)); /* are not shown as such */
		s->size_count = t->size_count;
		s->name = t->name ? strdup(t->name) : NULL;
		same = layout_diff(&one, &shown, &changes, &restart) == 0 && changes.count == 0;
	}
	for (size_t i = 0; i < changes.count && i < 3; i++)
		say("slurmctld has it otherwise: %s", changes.all[i].text);
	free(said);
	findings_clear(&changes);
	findings_clear(&ignored);
	layout_clear(&shown);
	return same;
}

static bool has_it(const struct apply *a)
{
	for (size_t i = 0; i < a->layout.count; i++)
		if (a->layout.topologies[i].count && !shows(&a->layout.topologies[i]))
			return false;
	return true;
}

static bool answers(void)
{
	static const char *const ask[] = { "scontrol", "ping", NULL };
	char *said = NULL;
	bool up = slurm_run(ask, SHOW_S, &said) >= 0 && said && strstr(said, " UP");

	free(said);
	return up;
}

static bool reconfigure(void)
{
	static const char *const ask[] = { "scontrol", "reconfigure", NULL };
	char *said = NULL;
	int rc = slurm_run(ask, RECONFIGURE_S, &said);

	if (rc != 0)
		say("scontrol reconfigure: %s", rc < 0		? strerror(-rc)
						: said && *said ? said
								: "failed");
	free(said);
	return rc == 0;
}

/* Waits until slurmctld has it. */
static bool verify(const struct apply *a)
{
	for (int i = 0; i < VERIFY_TRIES; i++) {
		if (i)
			sleep(1);
		if (answers() && has_it(a))
			return true;
	}
	return false;
}

static int roll_back(const struct options *o, const struct apply *a)
{
	struct err err = { "" };
	int rc;

	if (a->old_is_bad) {
		say("%s stays: the file before it is one that slurmctld does not start with",
		    o->target);
		return FAILED;
	}
	rc = a->old ? io_write_atomic(o->target, a->old, a->old_len, a->mode, &err)
		    : unlink(o->target);
	if (rc < 0) {
		say("the old file could not be put back: %s", a->old ? err.text : strerror(errno));
		return FAILED;
	}
	reconfigure();
	say("rolled back: %s is %s%s", o->target, a->old ? "as it was" : "gone again",
	    answers() ? "" : "; slurmctld does not answer, look into its log and start it");
	return FAILED;
}

static int install(const struct options *o, const struct apply *a)
{
	char *backup = io_format("%s.old", o->target);
	struct err err = { "out of memory" };
	int rc = backup ? 0 : -ENOMEM;

	if (rc == 0 && a->old)
		rc = io_write_atomic(backup, a->old, a->old_len, a->mode, &err);
	if (rc == 0)
		rc = io_write_atomic(o->target, a->text, a->len, a->mode, &err);
	if (rc < 0)
		say("%s; nothing is changed", err.text);
	free(backup);
	return rc < 0 ? FAILED : DONE;
}

static int apply(const struct options *o, struct apply *a)
{
	bool same = a->old && a->old_len == a->len && memcmp(a->old, a->text, a->len) == 0;

	if (expect(a) < 0) {
		say("out of memory");
		return FAILED;
	}
	if (!answers()) {
		say("slurmctld does not answer, so that it could not be verified; nothing is "
		    "changed");
		return FAILED;
	}
	if (same && has_it(a)) {
		say("%s is in force already", o->target);
		return DONE;
	}
	if (!same && install(o, a) != DONE)
		return FAILED;
	if (!reconfigure() || !verify(a)) {
		say("slurmctld does not have what %s says", a->conf);
		return roll_back(o, a);
	}
	say("%s is in force%s%s", o->target, a->old && !same ? "; the old one is " : "",
	    a->old && !same ? "beside it (.old)" : "");
	return DONE;
}

int cmd_apply(int argc, char **argv)
{
	struct apply a = { 0 };
	char *target = NULL;
	struct options o;
	int status, lock = -1;

	if (!read_options(&apply_command, argc, argv, &o, &a, &status))
		return status;
	if (!a.conf) {
		say("apply needs --conf");
		return WRONG_USE;
	}
	status = find_slurm_conf(&o, &a);
	a.release = status == DONE ? slurm_release(a.slurm) : 0;
	if (status == DONE && a.release == 0)
		status = WRONG_USE;
	if (status == DONE)
		status = prepare(&a);
	if (status == DONE)
		status = find_target(&o, &a, &target);
	if (status == DONE && !a.dry_run && (lock = lock_slurm_conf(&a)) < 0)
		status = FAILED;
	if (status == DONE)
		status = compare(&o, &a);
	if (status == DONE && a.dry_run)
		say("%s would be installed", o.target);
	else if (status == DONE)
		status = apply(&o, &a);
	if (lock >= 0)
		close(lock);
	layout_clear(&a.layout);
	wanted_clear(&a.nodes);
	free(a.slurm_conf);
	free(a.text);
	free(a.old);
	free(target);
	free(o.target);
	return status;
}
