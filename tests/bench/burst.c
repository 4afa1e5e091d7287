/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * burst.c - what all nodes of a large job send at its end: records, at once.
 *
 * One record is the pattern; each node's copy differs in its id, its name and its place. Some
 * processes share the nodes and repeat what was not taken, as sfabricd does, until all is. Prints
 * how long that took and how many attempts; exit status 1 when a record was refused.
 *
 * usage: burst FABRIC_CONF RECORD JOB NODES SENDERS
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"
#include "record.h"
#include "wire.h"

#define TIMEOUT_MS 10000
#define AGAIN_US 200000

static struct shared { /* between the senders */
	atomic_uint taken, refused, attempts;
} * shared;

static void give_up(const char *what)
{
	fprintf(stderr, "burst: %s\n", what);
	exit(2);
}

static char *of_node(struct record *r, unsigned int node)
{
	char *json;

	snprintf(r->id, sizeof(r->id), "%08" PRIx32 "%024x", r->job, node);
	free(r->node);
	r->node = io_format("n%05u", node);
	r->node_index = node;
	json = r->node ? record_line(r) : NULL;
	if (!json)
		give_up("out of memory");
	return json;
}

static void send_one(const struct conf *conf, const char *json)
{
	struct wire_reply reply;
	struct err err = { "" };
	int status;

	for (;;) {
		atomic_fetch_add(&shared->attempts, 1);
		status = wire_post(conf, "/v1/record", json, TIMEOUT_MS, &reply, &err) < 0
				 ? 0
				 : reply.status;
		wire_reply_clear(&reply);
		if (wire_final(status))
			break;
		usleep(AGAIN_US / 2 + (useconds_t)random() % AGAIN_US);
	}
	atomic_fetch_add(status < 300 ? &shared->taken : &shared->refused, 1);
}

static void send_share(const struct conf *conf, struct record *r, unsigned int first,
		       unsigned int every)
{
	srandom(first);
	for (unsigned int node = first; node < r->node_count; node += every) {
		char *json = of_node(r, node);
		send_one(conf, json);
		free(json);
	}
}

int main(int argc, char **argv)
{
	struct err err = { "" };
	struct conf *conf;
	struct record *r;
	unsigned int senders;
	int64_t start_ns;
	char *text;
	size_t len;

	if (argc != 6)
		give_up("usage: burst FABRIC_CONF RECORD JOB NODES SENDERS");
	senders = (unsigned int)atoi(argv[5]);
	conf = conf_load(argv[1], false, &err);
	if (!conf || io_read(argv[2], WIRE_MAX_BYTES, &text, &len, &err) < 0)
		give_up(err.text);
	r = record_parse(text, len, argv[2], &err);
	if (!r)
		give_up(err.text);
	r->job = (uint32_t)atoi(argv[3]);
	r->node_count = (uint32_t)atoi(argv[4]);
	r->end_ns = io_now_ns();
	r->begin_ns = r->end_ns - r->elapsed_ns;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		give_up("out of memory");
	start_ns = io_mono_ns();
	for (unsigned int i = 0; i < senders; i++)
		if (fork() == 0) {
			send_share(conf, r, i, senders);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	printf("%u records of %u nodes taken, %u refused, in %.1f s and %u attempts\n",
	       shared->taken, r->node_count, shared->refused,
	       (double)(io_mono_ns() - start_ns) / 1e9, shared->attempts);
	return shared->taken == r->node_count ? 0 : 1;
}
