/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cmd_watch.c - sfabric-topology watch: error counters of switch ports at an interval, as lines, as
 * Prometheus's text, and to sfabricctld.
 *
 * The fabric is asked in rounds on a grid; a round that takes longer than the interval delays the
 * next one. Nothing that a round can't do ends the watch: it is said, and the next round tries.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "conf.h"
#include "io.h"
#include "text.h"
#include "watch.h"
#include "watch_live.h"
#include "wire.h"

#define POST_TIMEOUT_MS 5000
#define DEFAULT_INTERVAL_NS INT64_C(60000000000)
#define DISCOVER_ROUNDS 60 /* the ports are looked for again after so many */

static const char watch_help[] =
	"Usage: sfabric-topology watch [OPTION]...\n"
	"Reads the error counters of all switch ports at an interval, and tells what grew.\n"
	"\n"
	"      --interval TIME    between two rounds (60s)\n"
	"      --count N          end after N rounds; the first one tells nothing\n"
	"      --port DEVICE:N    the local port to ask through; default: the first active one\n"
	"      --json             an object a line instead of text\n"
	"      --prometheus FILE  replace FILE after each round (for node_exporter's textfile\n"
	"                         collector)\n"
	"      --report           tell sfabricctld, which marks ports as suspect\n"
	"      --fabric FILE      names and links; default: fabric_json of fabric.conf\n"
	"      --timeout MS       wait so long for an answer before asking again (1000)\n"
	"  -h, --help             this text\n" EXIT_HELP;

enum { OPT_INTERVAL = OPT_OWN, OPT_COUNT, OPT_PORT, OPT_PROMETHEUS, OPT_REPORT };

static const struct option watch_options[] = {
	{ "fabric", required_argument, NULL, OPT_FABRIC },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "count", required_argument, NULL, OPT_COUNT },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "prometheus", required_argument, NULL, OPT_PROMETHEUS },
	{ "report", no_argument, NULL, OPT_REPORT },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

struct watch_choice {
	int64_t interval_ns;
	unsigned count; /* 0: without end */
	char *device;	/* NULL: the first */
	int port;
	const char *prometheus; /* NULL: none */
	bool report;
};

/* One run. */
struct run {
	const struct options *o;
	const struct watch_choice *choice;
	struct watch *watch;
	struct watch_live *live;
	struct conf *conf; /* with --report */
	char *by;	   /* who watches */
};

static bool take_port(struct watch_choice *choice)
{
	char *colon = strrchr(optarg, ':');
	uint64_t n;

	if (!colon || colon == optarg || !u64_parse(colon + 1, 255, &n) || n == 0) {
		say("--port takes a device and a port such as mlx5_0:1, not \"%s\"", optarg);
		return false;
	}
	*colon = '\0';
	choice->device = optarg;
	choice->port = (int)n;
	return true;
}

static bool take(int c, void *own)
{
	struct watch_choice *choice = own;

	switch (c) {
	case OPT_INTERVAL:
		if (interval_parse(optarg, &choice->interval_ns) && choice->interval_ns > 0)
			return true;
		say("--interval takes a time such as 500ms, 60s or 5m, not \"%s\"", optarg);
		return false;
	case OPT_COUNT:
		return number("--count", optarg, UINT32_MAX, &choice->count);
	case OPT_PORT:
		return take_port(choice);
	case OPT_PROMETHEUS:
		choice->prometheus = optarg;
		return true;
	default:
		return choice->report = true;
	}
}

static const struct command watch_command = {
	.help = watch_help,
	.letters = "h",
	.options = watch_options,
	.take = take,
	.live = true,
};

/* How far the kernel believes this clock to be off at most; -1: it is not synchronised. */
static int64_t clock_error_ns(void)
{
	struct timex tx = { 0 };

	if (adjtimex(&tx) == TIME_ERROR || (tx.status & STA_UNSYNC))
		return -1;
	return (int64_t)tx.maxerror * 1000;
}

static int tell_events(const struct run *run, const struct watch_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *text = run->o->json ? watch_event_json(run->watch, &events[i])
					  : watch_event_text(run->watch, &events[i]);
		char safe[1024];
		int status = FAILED;
		if (text && run->o->json) {
			status = print(text);
		} else if (text) {
			text_printable(text, safe, sizeof(safe) - 1);
			strcat(safe, "\n");
			status = print(safe);
		}
		free(text);
		if (status != DONE)
			return status;
	}
	return DONE;
}

static void write_prometheus(const struct run *run)
{
	char *text = watch_prometheus(run->watch);
	struct err err = { "out of memory" };

	if (!text || io_write_soon(run->choice->prometheus, text, strlen(text), 0644, &err) < 0)
		say("%s", err.text);
	free(text);
}

/* What sfabricctld says of it: whom it marked, and the jobs there. */
static void report(const struct run *run, const struct watch_event *events, size_t count)
{
	char *text = watch_message(run->watch, run->by, events, count);
	struct wire_reply reply = { 0 };
	struct err err = { "out of memory" };

	if (!text || wire_post(run->conf, "/v1/health", text, POST_TIMEOUT_MS, &reply, &err) < 0)
		say("sfabricctld was not told: %s", err.text);
	else if (reply.status != 200)
		say("sfabricctld took nothing (%d): %.400s", reply.status,
		    reply.json ? reply.json : "");
	else if (count && reply.json)
		say("sfabricctld: %.800s", reply.json);
	wire_reply_clear(&reply);
	free(text);
}

/* The first round only says where the counters stand. */
static int round_of(struct run *run, unsigned number_of)
{
	struct watch_reading *readings = NULL;
	struct watch_event *events = NULL;
	size_t count = 0, unread = 0, event_count = 0;
	struct err err = { "" };
	int status = DONE;

	if (number_of && number_of % DISCOVER_ROUNDS == 0 &&
	    watch_live_discover(run->live, &err) < 0)
		say("%s", err.text);
	if (watch_live_read(run->live, &readings, &count, &unread) < 0 ||
	    watch_take(run->watch, readings, count, clock_error_ns(), &events, &event_count) < 0) {
		say("out of memory");
		free(readings);
		return DONE;
	}
	free(readings);
	if (unread)
		say("%zu of %zu switch ports did not answer", unread, count);
	status = tell_events(run, events, event_count);
	if (run->choice->prometheus)
		write_prometheus(run);
	if (run->choice->report && number_of)
		report(run, events, event_count);
	free(events);
	if (unread && watch_live_discover(run->live, &err) < 0)
		say("%s", err.text);
	return status;
}

/* The next instant of the grid that is not over. */
static void wait_until(int64_t *next_ns, int64_t interval_ns)
{
	struct timespec until;

	*next_ns += interval_ns;
	if (*next_ns < io_mono_ns())
		*next_ns = io_mono_ns();
	until = (struct timespec){ *next_ns / 1000000000, *next_ns % 1000000000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static int prepare(struct run *run, struct fabric *f)
{
	char host[256] = "";
	struct err err = { "out of memory" };

	gethostname(host, sizeof(host) - 1);
	run->by = io_format("watch on %s%s%s", host, run->choice->device ? " " : "",
			    run->choice->device ? run->choice->device : "");
	run->watch = watch_new(f);
	if (run->by && run->watch)
		run->live = watch_live_open(run->choice->device, run->choice->port,
					    run->o->live.timeout_ms, &err);
	if (run->live && run->choice->report) {
		run->conf = conf_load(conf_default_path(), true, &err);
		if (run->conf)
			return DONE;
	} else if (run->live) {
		return DONE;
	}
	say("%s", err.text);
	return FAILED;
}

int cmd_watch(int argc, char **argv)
{
	struct watch_choice choice = { .interval_ns = DEFAULT_INTERVAL_NS };
	struct outcome out = { .command = "watch" };
	struct run run = { .choice = &choice };
	struct options o;
	int64_t next_ns = io_mono_ns();
	int status;

	if (!read_options(&watch_command, argc, argv, &o, &choice, &status))
		return status;
	run.o = &o;
	status = read_fabric(&o, &out);
	if (status == DONE)
		status = prepare(&run, out.fabric);
	for (unsigned i = 0; status == DONE && (!choice.count || i < choice.count); i++) {
		if (i)
			wait_until(&next_ns, choice.interval_ns);
		status = round_of(&run, i);
	}
	watch_live_close(run.live);
	watch_free(run.watch);
	conf_free(run.conf);
	free(run.by);
	o.json = false; /* the events were it */
	return finish(&o, &out, status);
}
