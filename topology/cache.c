/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache.c - see cache.h.
 *
 * The form is told at the head of libibnetdisc's ibnetdisc_cache.c: all numbers little-endian, a
 * header, the nodes, each with the (port GUID, number) of its ports, then the ports, each with its
 * node and its peer. It is read here and not by ibnd_load_fabric(), which before rdma-core 64 puts
 * a port with a bad number behind its array, and refuses what was cached after a query got lost,
 * which is worth a sentence.
 */
#include "cache.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
/* mad.h after umad.h: it uses its types */
#include <infiniband/mad.h>
#include <stdlib.h>
#include <string.h>

#include "portinfo.h"

#define MAGIC UINT32_C(0x8fe7832b)
#define FORMAT 1
#define HEADER_BYTES 28
#define NODE_BYTES 207 /* and KEY_BYTES for each port */
#define KEY_BYTES 9
#define PORT_BYTES 95

struct key {
	uint64_t guid; /* of the port; all ports of a switch have one */
	int number;
};

struct node {
	uint64_t guid;
	int type, ports;
	uint8_t info[IB_SMP_DATA_SIZE];
	char description[IB_SMP_DATA_SIZE + 1];
	const uint8_t *keys;
	int key_count;
};

struct port {
	struct key key;
	uint64_t node;
	uint8_t info[IB_SMP_DATA_SIZE];
	bool connected;
	struct key peer;
};

struct reader {
	struct subnet *s;
	const uint8_t *at;
	size_t left;
	struct port *ports; /* by key */
	size_t port_count;
};

static uint64_t number(const uint8_t *at, int bytes)
{
	uint64_t value = 0;

	for (int i = bytes; i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}

static struct key read_key(const uint8_t *at)
{
	return (struct key){ number(at, 8), at[8] };
}

/* The next bytes; NULL when there are not so many. */
static const uint8_t *take(struct reader *r, size_t bytes)
{
	const uint8_t *at = r->at;

	if (r->left < bytes)
		return NULL;
	r->at += bytes;
	r->left -= bytes;
	return at;
}

bool cache_is(const char *text, size_t len)
{
	return len >= HEADER_BYTES && number((const uint8_t *)text, 4) == MAGIC;
}

static bool read_node(struct reader *r, struct node *node)
{
	const uint8_t *at = take(r, NODE_BYTES);

	if (!at)
		return false;
	at += 4 + IB_SMP_DATA_SIZE; /* LID, LMC, enhanced port 0, SwitchInfo */
	node->guid = number(at, 8);
	node->type = at[8];
	node->ports = at[9];
	memcpy(node->info, at + 10, IB_SMP_DATA_SIZE);
	memcpy(node->description, at + 10 + IB_SMP_DATA_SIZE, IB_SMP_DATA_SIZE);
	node->description[IB_SMP_DATA_SIZE] = '\0';
	node->key_count = at[10 + 2 * IB_SMP_DATA_SIZE];
	node->keys = take(r, (size_t)node->key_count * KEY_BYTES);
	return node->keys != NULL;
}

static bool read_port(struct reader *r, struct port *port)
{
	const uint8_t *at = take(r, PORT_BYTES);

	if (!at)
		return false;
	port->key = read_key(at);
	memcpy(port->info, at + 13, IB_SMP_DATA_SIZE); /* behind external number, LID, LMC */
	at += 13 + IB_SMP_DATA_SIZE;
	port->node = number(at, 8);
	port->connected = at[8];
	port->peer = read_key(at + 9);
	return true;
}

static int by_key(const void *x, const void *y)
{
	const struct key *a = &((const struct port *)x)->key, *b = &((const struct port *)y)->key;

	if (a->guid != b->guid)
		return a->guid < b->guid ? -1 : 1;
	return a->number - b->number;
}

static struct port *find_port(const struct reader *r, struct key key)
{
	struct port wanted = { .key = key };

	return r->port_count ? bsearch(&wanted, r->ports, r->port_count, sizeof(*r->ports), by_key)
			     : NULL;
}

/* The port of that number that the node says it has; NULL: it was not read, or not kept. */
static struct port *port_of(const struct reader *r, const struct node *node, int number)
{
	for (int i = 0; i < node->key_count; i++) {
		struct key key = read_key(node->keys + i * KEY_BYTES);
		struct port *port = key.number == number ? find_port(r, key) : NULL;
		if (port && port->node == node->guid)
			return port;
	}
	return NULL;
}

static int add_cable(struct reader *r, const struct node *node, struct port *port)
{
	struct port *caps = node->type == IB_NODE_SWITCH ? port_of(r, node, 0) : port;
	struct port *peer = port->connected ? find_port(r, port->peer) : NULL;
	struct fabric_wire wire = portinfo_wire(port->info, caps ? caps->info : NULL, NULL);

	if (peer && peer->key.number && peer->node)
		return subnet_add_cable(r->s, (struct subnet_end){ node->guid, port->key.number },
					(struct subnet_end){ peer->node, peer->key.number }, &wire,
					false);
	if (!port->connected && node->type != IB_NODE_SWITCH)
		return 0;
	return subnet_add_bare(r->s, (struct subnet_end){ node->guid, port->key.number },
			       port->connected || portinfo_is_up(port->info));
}

static int add_ports(struct reader *r, const struct node *node)
{
	int rc = 0;

	for (int i = 1; rc == 0 && i <= node->ports; i++) {
		struct port *port = port_of(r, node, i);
		if (!port) {
			if (node->type == IB_NODE_SWITCH)
				notes_add(&r->s->missing,
					  "port %d of switch 0x%016llx (%s) could not be read", i,
					  (unsigned long long)node->guid, node->description);
			continue;
		}
		if (node->type != IB_NODE_SWITCH && port->key.guid)
			rc = subnet_add_port(r->s, node->guid, i, port->key.guid);
		if (rc == 0)
			rc = add_cable(r, node, port);
	}
	return rc;
}

static int add_node(struct reader *r, struct node *node)
{
	struct subnet_node copy = {
		.guid = node->guid,
		.kind = node->type == IB_NODE_SWITCH   ? SUBNET_SWITCH
			: node->type == IB_NODE_ROUTER ? SUBNET_ROUTER
						       : SUBNET_CA,
		.description = node->description,
		.ports = node->ports,
		.vendor = mad_get_field(node->info, 0, IB_NODE_VENDORID_F),
		.device = mad_get_field(node->info, 0, IB_NODE_DEVID_F),
		.described = true,
	};
	int rc;

	mad_decode_field(node->info, IB_NODE_SYSTEM_GUID_F, &copy.system_guid);
	rc = subnet_add_node(r->s, &copy);
	return rc < 0 ? rc : add_ports(r, node);
}

/* All ports come behind all nodes; the nodes are read again when the ports are known. */
static int read_ports(struct reader *r, size_t nodes, size_t ports)
{
	struct node node;

	while (nodes--)
		if (!read_node(r, &node) || node.guid == 0)
			return -EINVAL;
	if (ports > r->left / PORT_BYTES)
		return -EINVAL;
	r->ports = calloc(ports + 1, sizeof(*r->ports));
	if (!r->ports)
		return -ENOMEM;
	for (; r->port_count < ports; r->port_count++)
		if (!read_port(r, &r->ports[r->port_count]))
			return -EINVAL;
	if (ports)
		qsort(r->ports, ports, sizeof(*r->ports), by_key);
	return 0;
}

int cache_read(struct subnet *s, const char *text, size_t len, const char *source, struct err *err)
{
	struct reader r = { .s = s, .at = (const uint8_t *)text, .left = len };
	const uint8_t *header = take(&r, HEADER_BYTES);
	const struct reader start = r;
	size_t nodes, ports;
	struct node node;
	int rc;

	if (!header || number(header, 4) != MAGIC || number(header + 4, 4) != FORMAT)
		return err_set(err, EINVAL, "%s: no cache of ibnetdiscover, or of a newer version",
			       source);
	nodes = number(header + 8, 4);
	ports = number(header + 12, 4);
	rc = nodes <= r.left / NODE_BYTES ? read_ports(&r, nodes, ports) : -EINVAL;
	r.at = start.at;
	r.left = start.left;
	for (size_t i = 0; rc == 0 && i < nodes; i++)
		rc = read_node(&r, &node) ? add_node(&r, &node) : -EINVAL;
	free(r.ports);
	if (rc == -EINVAL)
		return err_set(err, EINVAL,
			       "%s: this cache of ibnetdiscover is cut or broken; write it again",
			       source);
	return rc < 0 ? err_set(err, -rc, "%s: out of memory", source) : 0;
}
