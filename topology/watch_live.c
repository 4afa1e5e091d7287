/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watch_live.c - see watch_live.h.
 *
 * One packet for each port and round, to the LID of its switch, one after the other: a switch's
 * management processor is slow, and nothing is gained by making it busy.
 */
#include "watch_live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters.h"
#include "io.h"

struct target {
	uint64_t sw;
	int lid, port;
};

struct watch_live {
	char *device; /* NULL: the first */
	int port;
	unsigned timeout_ms;
	struct ibmad_port *mad;
	struct target *targets;
	size_t count;
};

static size_t count_ports(const ibnd_fabric_t *fabric)
{
	size_t count = 0;

	for (const ibnd_node_t *node = fabric->nodes; node; node = node->next)
		if (node->type == IB_NODE_SWITCH)
			count += (size_t)node->numports;
	return count;
}

static void take_switch(const ibnd_node_t *node, struct target *targets, size_t *count)
{
	for (int i = 1; node->smalid && i <= node->numports; i++)
		if (node->ports[i] && node->ports[i]->remoteport)
			targets[(*count)++] = (struct target){ node->guid, node->smalid, i };
}

int watch_live_discover(struct watch_live *l, struct err *err)
{
	struct ibnd_config config = { .max_smps = 32,
				      .timeout_ms = l->timeout_ms,
				      .retries = 3,
				      .flags = IBND_CONFIG_MLX_EPI };
	ibnd_fabric_t *found = ibnd_discover_fabric(l->device, l->port, NULL, &config);
	struct target *targets = found ? calloc(count_ports(found) + 1, sizeof(*targets)) : NULL;
	size_t count = 0;

	if (!found)
		return err_set(err, EIO,
			       "the discovery failed; it needs an InfiniBand port that is up, and "
			       "access to /dev/infiniband/umad* (root)");
	for (const ibnd_node_t *node = found->nodes; targets && node; node = node->next)
		if (node->type == IB_NODE_SWITCH)
			take_switch(node, targets, &count);
	ibnd_destroy_fabric(found);
	if (!targets)
		return err_set(err, ENOMEM, "out of memory");
	if (!count) {
		free(targets);
		return err_set(err, ENODEV,
			       "no switch with a LID and a link was found; is a subnet manager "
			       "running?");
	}
	free(l->targets);
	l->targets = targets;
	l->count = count;
	return 0;
}

struct watch_live *watch_live_open(const char *device, int port, unsigned timeout_ms,
				   struct err *err)
{
	int classes[] = { IB_PERFORMANCE_CLASS };
	struct watch_live *l = calloc(1, sizeof(*l));

	if (l)
		*l = (struct watch_live){ .device = device ? strdup(device) : NULL,
					  .port = port,
					  .timeout_ms = timeout_ms };
	if (!l || (device && !l->device)) {
		err_set(err, ENOMEM, "out of memory");
		watch_live_close(l);
		return NULL;
	}
	l->mad = mad_rpc_open_port(l->device, port, classes, 1);
	if (!l->mad)
		err_set(err, EIO,
			"%s:%d can't be opened for performance management; it has to be up, and "
			"this needs access to /dev/infiniband/umad* (root)",
			device ? device : "the first InfiniBand port", port);
	else
		mad_rpc_set_timeout(l->mad, (int)timeout_ms);
	if (l->mad && watch_live_discover(l, err) == 0)
		return l;
	watch_live_close(l);
	return NULL;
}

void watch_live_close(struct watch_live *l)
{
	if (!l)
		return;
	if (l->mad)
		mad_rpc_close_port(l->mad);
	free(l->device);
	free(l->targets);
	free(l);
}

static void read_port(struct watch_live *l, const struct target *target, struct watch_reading *r)
{
	struct fabric_counts counts;
	int64_t time_ns = io_now_ns(), mono_ns = io_mono_ns();

	*r = (struct watch_reading){ .sw = target->sw, .port = target->port };
	if (!counters_errors(l->mad, target->lid, target->port, l->timeout_ms, &counts))
		return;
	r->half_ns = (io_mono_ns() - mono_ns) / 2;
	r->time_ns = time_ns + r->half_ns;
	r->mono_ns = mono_ns + r->half_ns;
	r->read = true;
	for (int i = 0; i < WATCH_COUNTERS; i++)
		r->value[i] = (uint32_t)counts.value[i];
}

int watch_live_read(struct watch_live *l, struct watch_reading **readings, size_t *count,
		    size_t *unread)
{
	*readings = calloc(l->count + 1, sizeof(**readings));
	*count = *unread = 0;
	if (!*readings)
		return -ENOMEM;
	for (; *count < l->count; ++*count) {
		read_port(l, &l->targets[*count], &(*readings)[*count]);
		*unread += !(*readings)[*count].read;
	}
	return 0;
}
