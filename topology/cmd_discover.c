/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_discover.c - sfabric-topology discover: finds out what the fabric is; fabric.json.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "text.h"

static const char discover_help[] =
	"Usage: sfabric-topology discover [OPTION]...\n"
	"Finds out what the fabric is and writes fabric.json, to standard output without -o.\n"
	"Without --from it asks the fabric itself, through every InfiniBand port that is up "
	"(root).\n"
	"\n"
	"      --from FILE        read recorded files instead, or a folder of them; can be "
	"repeated\n"
	"                         (ibnetdiscover's text or cache, lldpcli's JSON); - is standard "
	"input\n"
	"      --names FILE       names for GUIDs, as in rdma's node name map\n"
	"      --only KEY=VALUE   HCA ports that count: device=, host=, switch=, pkey= and a "
	"pattern,\n"
	"                         plane=NUMBER, speed=GBPS and more; can be repeated\n"
	"      --skip KEY=VALUE   HCA ports that don't\n"
	"      --partitions FILE  opensm's partitions.conf, for pkey=\n"
	"      --directors one|many  switches of one box (system image GUID) are one switch, or "
	"many\n"
	"                         (default)\n"
	"  -o, --output FILE      replace FILE atomically, only if the fabric changed\n"
	"      --timeout MS       wait so long for an answer before asking again, 3 times (1000)\n"
	"      --max-smps N       packets on the wire at a time (32)\n"
	"      --forget-after DAYS  hosts and switches that are not seen any more stay where they\n"
	"                         were in FILE of -o for so long (30); 0: nothing stays\n"
	"      --counters         read each port's counters, too; needs a running subnet manager\n"
	"      --accept-partial   write also when something is known to be missing\n"
	"      --json             a summary as JSON on standard output; needs -o\n"
	"  -h, --help             this text\n" EXIT_HELP;

enum { OPT_FORGET = OPT_OWN, OPT_COUNTERS };

#define DAY_NS INT64_C(86400000000000)
#define DAYS_MAX 36500

static const struct option discover_options[] = {
	{ "forget-after", required_argument, NULL, OPT_FORGET },
	{ "counters", no_argument, NULL, OPT_COUNTERS },
	DISCOVERY_OPTIONS,
	{ "output", required_argument, NULL, 'o' },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "max-smps", required_argument, NULL, OPT_MAX_SMPS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct own {
	int64_t forget_ns;
	bool counters;
};

static bool take_own(int c, void *data)
{
	struct own *own = data;
	uint64_t days;

	if (c == OPT_COUNTERS)
		return own->counters = true;
	if (!u64_parse(optarg, DAYS_MAX, &days)) {
		say("--forget-after takes a number of days from 0 to %d, not \"%s\"", DAYS_MAX,
		    optarg);
		return false;
	}
	own->forget_ns = (int64_t)days * DAY_NS;
	return true;
}

static const struct command discover_command = {
	.help = discover_help,
	.letters = "o:h",
	.options = discover_options,
	.live = true,
	.take = take_own,
};

/* The file that is going to be replaced; NULL: there is none, or it is none. */
static struct fabric *read_before(const struct options *o, struct outcome *out)
{
	struct err err = { "" };
	struct fabric *was = o->target ? fabric_load(o->target, &err) : NULL;

	if (!was && o->target && errno != ENOENT)
		notes_add(&out->notes, "%s; what is absent from the fabric is not known", err.text);
	return was;
}

static int write_fabric(const struct options *o, struct outcome *out)
{
	struct err err = { "" };
	char *text;
	int rc;

	if (o->output) {
		rc = fabric_save(out->fabric, o->target, &out->changed, &err);
		if (rc < 0)
			say("%s", err.text);
		return rc < 0 ? FAILED : DONE;
	}
	text = fabric_text(out->fabric);
	if (!text)
		say("out of memory");
	rc = text ? print(text) : FAILED;
	free(text);
	out->changed = true;
	return rc;
}

int cmd_discover(int argc, char **argv)
{
	struct outcome out = { .command = "discover" };
	struct own own = { .forget_ns = ABSENT_DAYS * DAY_NS };
	struct fabric *was = NULL;
	struct options o;
	int status;

	if (!read_options(&discover_command, argc, argv, &o, &own, &status))
		return status;
	if (own.counters && o.from_count) {
		say("--counters asks the fabric; it can't be with --from");
		return WRONG_USE;
	}
	o.live.counters = own.counters;
	status = check_output(&o);
	if (status == DONE) {
		out.absent.forget_ns = own.forget_ns;
		out.was = was = read_before(&o, &out);
		status = discover(&o, &out);
	}
	fabric_free(was);
	if (status == DONE)
		status = judge(&o, &out);
	if (status == DONE)
		status = write_fabric(&o, &out);
	if (status == DONE)
		say("%zu switches, %zu hosts in %zu units, %zu pods, %zu islands%s%s",
		    out.fabric->switch_count, out.fabric->host_count, out.fabric->unit_count,
		    out.fabric->pod_count, out.fabric->island_count,
		    o.output ? out.changed ? "; wrote " : "; unchanged: " : "",
		    o.output ? o.output : "");
	return finish(&o, &out, status);
}
