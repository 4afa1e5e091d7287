/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map.c - the node's map as JSON, joined with the fabric, and as env file; see map.h.
 *
 * The JSON is short on purpose (8 GPUs and 9 ports are a few KiB): what is not known is not there,
 * a GPU names its ports by "DEVICE:PORT" and the switch of a port is said once, at the port. Input
 * comes from the network or from a file and is not trusted: every count is bounded and every name
 * that a GPU refers to has to be there. Output goes to sfabricctld, to people's scripts, and, as
 * ready-made lists, to fabric.so.
 */
#include "map.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"
#include "io.h"
#include "text.h"

static const char *const class_names[] = { "PIX", "PXB", "PHB", "NODE", "SYS", "unknown" };
static const char *const source_names[] = { "open", "smp", "lldp", "fabric" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *map_class_name(enum map_class class)
{
	return (size_t) class < COUNT(class_names) ? class_names[class] : "unknown";
}

static void leaf_clear(struct map_leaf *leaf)
{
	free(leaf->name);
	*leaf = (struct map_leaf){ .source = LEAF_OPEN, .rail = -1 };
}

static void port_clear(struct map_port *p)
{
	free(p->device);
	free(p->bdf);
	free(p->layer);
	free(p->ignored);
	leaf_clear(&p->leaf);
}

static void gpu_clear(struct map_gpu *g)
{
	free(g->bdf);
	free(g->part);
	free(g->uuid);
	free(g->model);
	free(g->tree);
	free(g->near);
	free(g->reason);
}

void map_free(struct map *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->gpu_count; i++)
		gpu_clear(&m->gpus[i]);
	for (size_t i = 0; i < m->port_count; i++)
		port_clear(&m->ports[i]);
	free(m->gpus);
	free(m->ports);
	free(m->host);
	free(m->boot_id);
	free(m->fingerprint);
	free(m);
}

int map_port_order(const struct map_port *a, const struct map_port *b)
{
	int order = strverscmp(a->device, b->device);

	return order ? order : (a->port > b->port) - (a->port < b->port);
}

/* ---- reading ---- */

static char *optional_string(struct json_reader *r, json_object *object, const char *key)
{
	return json_has(object, key) ? json_read_strdup(r, object, key) : NULL;
}

static int optional_int(struct json_reader *r, json_object *object, const char *key)
{
	return json_has(object, key) ? (int)json_read_int(r, object, key, 0, INT_MAX) : -1;
}

static uint64_t optional_guid(struct json_reader *r, json_object *object, const char *key)
{
	return json_has(object, key) ? json_read_guid(r, object, key) : 0;
}

static uint64_t optional_u64(struct json_reader *r, json_object *object, const char *key)
{
	return json_has(object, key) ? json_read_u64(r, object, key) : 0;
}

static enum link_state read_state(struct json_reader *r, json_object *object)
{
	enum link_state state = LINK_UNKNOWN;
	const char *text = json_has(object, "state") ? json_read_string(r, object, "state") : NULL;

	if (text && !link_state_parse(text, &state))
		json_fail(r, "key \"state\" is \"%.40s\", no state of a link", text);
	return state;
}

/* "mlx5_0:1" to device and number. */
static void split_port_name(struct json_reader *r, const char *name, struct map_port *p)
{
	const char *colon = strrchr(name, ':');
	uint64_t number;

	if (!colon || colon == name || !u64_parse(colon + 1, 255, &number)) {
		json_fail(r, "port \"%.80s\" is not named DEVICE:NUMBER", name);
		return;
	}
	p->port = (int)number;
	p->device = strndup(name, (size_t)(colon - name));
	if (!p->device)
		r->rc = err_set(r->err, ENOMEM, "%s: out of memory", r->source);
}

static void read_leaf(struct json_reader *r, json_object *object, struct map_leaf *leaf)
{
	const char *source = json_read_string(r, object, "source");

	for (size_t i = LEAF_SMP; source && i < COUNT(source_names); i++)
		if (!strcmp(source, source_names[i]))
			leaf->source = (enum leaf_source)i;
	if (source && leaf->source == LEAF_OPEN)
		json_fail(r, "leaf source \"%.40s\" is not known", source);
	leaf->guid = json_read_guid(r, object, "guid");
	leaf->name = json_read_strdup(r, object, "name");
	leaf->port = (int)json_read_int(r, object, "port", 0, 255);
	leaf->rail = optional_int(r, object, "rail");
	if (json_has(object, "width"))
		leaf->wire.width = (int)json_read_int(r, object, "width", 1, 255);
	leaf->wire.speed_bps = optional_u64(r, object, "speed_bps");
	leaf->wire.state = read_state(r, object);
	if (json_has(object, "degraded"))
		leaf->wire.degraded = json_read_bool(r, object, "degraded");
}

static void read_port(struct json_reader *r, json_object *object, struct map_port *p)
{
	const char *name = json_read_string(r, object, "name");

	p->leaf.rail = -1;
	if (name)
		split_port_name(r, name, p);
	p->guid = optional_guid(r, object, "guid");
	p->node_guid = optional_guid(r, object, "node_guid");
	p->bdf = optional_string(r, object, "bdf");
	p->numa = optional_int(r, object, "numa");
	p->layer = optional_string(r, object, "layer");
	p->state = read_state(r, object);
	p->rate_bps = optional_u64(r, object, "rate_bps");
	p->ignored = optional_string(r, object, "ignored");
	if (json_has(object, "leaf"))
		read_leaf(r, json_read_object(r, object, "leaf"), &p->leaf);
}

/* Index of the port called name, or port_count. */
static size_t find_port(const struct map *m, const char *name)
{
	const char *colon = strrchr(name, ':');
	uint64_t number;
	size_t len, i;

	if (!colon || !u64_parse(colon + 1, 255, &number))
		return m->port_count;
	len = (size_t)(colon - name);
	for (i = 0; i < m->port_count; i++) {
		const struct map_port *p = &m->ports[i];
		if (p->port == (int)number && !strncmp(p->device, name, len) &&
		    p->device[len] == '\0')
			break;
	}
	return i;
}

static void read_near(struct json_reader *r, json_object *object, const struct map *m,
		      struct map_near *near)
{
	const char *name = json_read_string(r, object, "port");
	const char *class = json_read_string(r, object, "class");
	size_t i;

	near->tie = (int)json_read_int(r, object, "tie", 1, MAP_MAX_DEVICES);
	if (r->rc < 0)
		return;
	near->port = find_port(m, name);
	if (near->port == m->port_count)
		json_fail(r, "a GPU is near port \"%.80s\", which the map does not have", name);
	for (i = 0; i < COUNT(class_names) && strcmp(class, class_names[i]) != 0; i++)
		;
	if (i == COUNT(class_names))
		json_fail(r, "class \"%.40s\" is not known", class);
	else
		near->class = (enum map_class)i;
}

/* The array under key, its length in *count and zeroed room for it; NULL for none or an error. */
static void *read_list(struct json_reader *r, json_object *object, const char *key, size_t max,
		       size_t size, json_object **array, size_t *count)
{
	void *room;

	*count = 0;
	*array = json_read_array(r, object, key);
	if (r->rc < 0 || json_object_array_length(*array) == 0)
		return NULL;
	if (json_object_array_length(*array) > max) {
		json_fail(r, "\"%s\" has %zu entries, at most %zu are accepted", key,
			  (size_t)json_object_array_length(*array), max);
		return NULL;
	}
	room = calloc(json_object_array_length(*array), size);
	if (!room)
		r->rc = err_set(r->err, ENOMEM, "%s: out of memory", r->source);
	else
		*count = json_object_array_length(*array);
	return room;
}

static void read_gpu(struct json_reader *r, json_object *object, const struct map *m,
		     struct map_gpu *g)
{
	json_object *array;

	g->index = (int)json_read_int(r, object, "index", 0, INT_MAX);
	g->gres = optional_int(r, object, "gres");
	g->minor = optional_int(r, object, "minor");
	g->bdf = json_read_strdup(r, object, "bdf");
	g->part = optional_string(r, object, "part");
	g->uuid = optional_string(r, object, "uuid");
	g->model = optional_string(r, object, "model");
	g->numa = optional_int(r, object, "numa");
	g->tree = optional_string(r, object, "tree");
	g->near = read_list(r, object, "near", m->port_count, sizeof(*g->near), &array,
			    &g->near_count);
	for (size_t i = 0; i < g->near_count; i++)
		read_near(r, json_item_object(r, array, i, "near port"), m, &g->near[i]);
	g->reason = json_read_strdup(r, object, "reason");
}

/* Two ports of one name would make every reference to it ambiguous. */
static void check_port_order(struct json_reader *r, const struct map *m)
{
	for (size_t i = 1; r->rc == 0 && i < m->port_count; i++)
		if (map_port_order(&m->ports[i - 1], &m->ports[i]) >= 0)
			json_fail(r, "port \"%.80s:%d\" is there twice or out of order",
				  m->ports[i].device, m->ports[i].port);
}

struct map *map_from_json(json_object *object, const char *source, struct err *err)
{
	struct json_reader r = { .source = source, .err = err };
	struct map *m = calloc(1, sizeof(*m));
	json_object *array;

	if (!m) {
		err_set(err, ENOMEM, "%s: out of memory", source);
		return NULL;
	}
	json_read_format(&r, object, MAP_FORMAT, MAP_VERSION);
	m->host = json_read_strdup(&r, object, "host");
	if (r.rc == 0) {
		m->boot_id = optional_string(&r, object, "boot_id");
		if (m->boot_id && !name_valid(m->boot_id, 64))
			json_fail(&r, "key \"boot_id\" is no boot id");
		m->fingerprint = optional_string(&r, object, "fingerprint");
	}
	m->ports = read_list(&r, object, "ports", MAP_MAX_DEVICES, sizeof(*m->ports), &array,
			     &m->port_count);
	for (size_t i = 0; i < m->port_count; i++)
		read_port(&r, json_item_object(&r, array, i, "port"), &m->ports[i]);
	check_port_order(&r, m);
	m->gpus = read_list(&r, object, "gpus", MAP_MAX_DEVICES, sizeof(*m->gpus), &array,
			    &m->gpu_count);
	for (size_t i = 0; i < m->gpu_count; i++)
		read_gpu(&r, json_item_object(&r, array, i, "GPU"), m, &m->gpus[i]);
	if (r.rc == 0)
		return m;
	map_free(m);
	errno = -r.rc;
	return NULL;
}

struct map *map_parse(const char *text, size_t len, const char *source, struct err *err)
{
	json_object *object;
	struct map *m;

	if (len > MAP_MAX_BYTES) {
		err_set(err, EFBIG, "%s: longer than the %u bytes a map may have", source,
			MAP_MAX_BYTES);
		errno = EFBIG;
		return NULL;
	}
	object = json_parse(text, len, source, err);
	if (!object)
		return NULL;
	m = map_from_json(object, source, err);
	json_object_put(object);
	return m;
}

/* ---- writing ---- */

/* The put_ functions add what is known; *rc keeps the first failure. */
static void put_string(json_object *object, const char *key, const char *value, int *rc)
{
	if (value && *rc == 0)
		*rc = json_put_string(object, key, value);
}

static void put_int(json_object *object, const char *key, int value, int *rc)
{
	if (value >= 0 && *rc == 0)
		*rc = json_put_int(object, key, value);
}

static void put_guid(json_object *object, const char *key, uint64_t guid, int *rc)
{
	if (guid && *rc == 0)
		*rc = json_put_guid(object, key, guid);
}

static void put_u64(json_object *object, const char *key, uint64_t value, int *rc)
{
	if (value && *rc == 0)
		*rc = json_put_u64(object, key, value);
}

static void put_value(json_object *object, const char *key, json_object *value, int *rc)
{
	if (value && *rc == 0 && json_object_object_add(object, key, value) == 0)
		return;
	json_object_put(value);
	if (*rc == 0)
		*rc = -ENOMEM;
}

static void append(json_object *array, json_object *value, int *rc)
{
	if (value && *rc == 0 && json_object_array_add(array, value) == 0)
		return;
	json_object_put(value);
	if (*rc == 0)
		*rc = -ENOMEM;
}

static json_object *leaf_json(const struct map_leaf *leaf, int *rc)
{
	json_object *object = json_object_new_object();

	if (!object)
		return NULL;
	put_string(object, "source", source_names[leaf->source], rc);
	if (*rc == 0)
		*rc = json_put_guid(object, "guid", leaf->guid);
	put_string(object, "name", leaf->name ? leaf->name : "", rc);
	put_int(object, "port", leaf->port, rc);
	put_int(object, "rail", leaf->rail, rc);
	put_u64(object, "width", leaf->wire.width > 0 ? (uint64_t)leaf->wire.width : 0, rc);
	put_u64(object, "speed_bps", leaf->wire.speed_bps, rc);
	if (leaf->wire.state != LINK_UNKNOWN)
		put_string(object, "state", link_state_name(leaf->wire.state), rc);
	if (leaf->wire.degraded && *rc == 0)
		*rc = json_put_bool(object, "degraded", true);
	return object;
}

static char *port_name(const struct map_port *p)
{
	return io_format("%s:%d", p->device, p->port);
}

static json_object *port_json(const struct map_port *p, int *rc)
{
	json_object *object = json_object_new_object();
	char *name = port_name(p);

	if (!object || !name) {
		json_object_put(object);
		free(name);
		return NULL;
	}
	put_string(object, "name", name, rc);
	free(name);
	put_guid(object, "guid", p->guid, rc);
	put_guid(object, "node_guid", p->node_guid, rc);
	put_string(object, "bdf", p->bdf, rc);
	put_int(object, "numa", p->numa, rc);
	put_string(object, "layer", p->layer, rc);
	put_string(object, "state", link_state_name(p->state), rc);
	put_u64(object, "rate_bps", p->rate_bps, rc);
	put_string(object, "ignored", p->ignored, rc);
	if (p->leaf.source != LEAF_OPEN)
		put_value(object, "leaf", leaf_json(&p->leaf, rc), rc);
	return object;
}

static json_object *near_json(const struct map *m, const struct map_near *near, int *rc)
{
	json_object *object = json_object_new_object();
	char *name = port_name(&m->ports[near->port]);

	if (!object || !name) {
		json_object_put(object);
		free(name);
		return NULL;
	}
	put_string(object, "port", name, rc);
	free(name);
	put_string(object, "class", map_class_name(near->class), rc);
	put_int(object, "tie", near->tie, rc);
	return object;
}

static json_object *gpu_json(const struct map *m, const struct map_gpu *g, int *rc)
{
	json_object *object = json_object_new_object(), *near = json_object_new_array();

	if (!object || !near) {
		json_object_put(object);
		json_object_put(near);
		return NULL;
	}
	put_int(object, "index", g->index, rc);
	put_int(object, "gres", g->gres, rc);
	put_int(object, "minor", g->minor, rc);
	put_string(object, "bdf", g->bdf, rc);
	put_string(object, "part", g->part, rc);
	put_string(object, "uuid", g->uuid, rc);
	put_string(object, "model", g->model, rc);
	put_int(object, "numa", g->numa, rc);
	put_string(object, "tree", g->tree, rc);
	for (size_t i = 0; i < g->near_count; i++)
		append(near, near_json(m, &g->near[i], rc), rc);
	put_value(object, "near", near, rc);
	put_string(object, "reason", g->reason, rc);
	return object;
}

json_object *map_to_json(const struct map *m)
{
	json_object *object = json_object_new_object();
	json_object *gpus = json_object_new_array(), *ports = json_object_new_array();
	int rc = object && gpus && ports ? json_put_format(object, MAP_FORMAT, MAP_VERSION)
					 : -ENOMEM;

	if (rc == 0) {
		put_string(object, "host", m->host, &rc);
		put_string(object, "boot_id", m->boot_id, &rc);
		put_string(object, "fingerprint", m->fingerprint, &rc);
		for (size_t i = 0; i < m->gpu_count; i++)
			append(gpus, gpu_json(m, &m->gpus[i], &rc), &rc);
		for (size_t i = 0; i < m->port_count; i++)
			append(ports, port_json(&m->ports[i], &rc), &rc);
	}
	put_value(object, "gpus", gpus, &rc);
	put_value(object, "ports", ports, &rc);
	if (rc == 0)
		return object;
	json_object_put(object);
	errno = -rc;
	return NULL;
}

char *map_text(const struct map *m)
{
	json_object *object = map_to_json(m);
	char *text = object ? json_text(object) : NULL;

	json_object_put(object);
	return text;
}

/* ---- joining with the fabric ---- */

static int join_port(struct map_port *p, const struct fabric *f, size_t *differ)
{
	size_t i = p->guid ? fabric_find_port(f, p->guid) : FABRIC_NONE;
	const struct fabric_port *fp;
	const struct fabric_switch *sw;
	char *name;

	if (p->leaf.source == LEAF_FABRIC)
		leaf_clear(&p->leaf);
	if (i == FABRIC_NONE || f->ports[i].sw == FABRIC_NONE)
		return 0;
	fp = &f->ports[i];
	sw = &f->switches[fp->sw];
	if (p->leaf.source != LEAF_OPEN) {
		*differ += p->leaf.guid != sw->guid || p->leaf.port != fp->sw_port;
		return 0;
	}
	name = strdup(sw->name);
	if (!name)
		return -ENOMEM;
	p->leaf = (struct map_leaf){ .source = LEAF_FABRIC,
				     .guid = sw->guid,
				     .name = name,
				     .port = fp->sw_port,
				     .rail = fp->rail,
				     .wire = fp->wire };
	return 0;
}

int map_join_fabric(struct map *m, const struct fabric *f, size_t *differ)
{
	int rc = 0;

	*differ = 0;
	for (size_t i = 0; rc == 0 && i < m->port_count; i++)
		rc = join_port(&m->ports[i], f, differ);
	return rc;
}

/* ---- the env file ---- */

/* A port that verbs programs can be told, under a name that can stand in a list. */
static bool listable(const struct map_port *p)
{
	return name_valid(p->device, 64) && !(p->layer && !strcmp(p->layer, MAP_SLINGSHOT));
}

/* "mlx5_0:1,mlx5_1:1" of the GPU's ports, "-" for none; NULL without memory. */
static char *near_list(const struct map *m, const struct map_gpu *g)
{
	struct io_text list = { 0 };

	for (size_t i = 0; i < g->near_count; i++) {
		const struct map_port *p = &m->ports[g->near[i].port];

		if (listable(p))
			io_add(&list, "%s%s:%d", list.used ? "," : "", p->device, p->port);
	}
	if (!list.used)
		io_add(&list, "-");
	return io_end(&list);
}

static int write_gpu(struct io_text *out, const struct map *m, const struct map_gpu *g)
{
	char *list;

	if (g->gres < 0 || g->near_count == 0)
		return 0;
	list = near_list(m, g);
	if (!list)
		return -ENOMEM;
	/* UCX_NET_DEVICES and NVSHMEM_HCA_LIST are both lists of DEVICE:PORT. */
	if (out->used + 2 * strlen(list) + 32 < ENV_MAX_BYTES)
		io_add(out, "gpu %d %s %s\n", g->gres, list, list);
	free(list);
	return 0;
}

/* A list that is too long for fabric.so is left out. */
static int write_used(struct io_text *out, const struct map *m, const bool *used)
{
	struct io_text list = { 0 };
	char *text;

	for (size_t i = 0; i < m->port_count; i++)
		if (used[i])
			io_add(&list, "%s%s:%d", list.used ? "," : "=", m->ports[i].device,
			       m->ports[i].port);
	text = io_end(&list);
	if (!text)
		return -ENOMEM;
	if (strlen(text) < ENV_LIST)
		io_add(out, "nccl %s\n", text);
	free(text);
	return 0;
}

/*
 * NCCL takes every active verbs port unless told; so it is told only when the ports that GPUs use
 * are others. "=" makes the names exact: without it mlx5_1 would take mlx5_10 as well.
 */
static int write_nccl(struct io_text *out, const struct map *m)
{
	bool *used = calloc(m->port_count + 1, sizeof(*used));
	bool differ = false, any = false;
	int rc = 0;

	if (!used)
		return -ENOMEM;
	for (size_t i = 0; i < m->gpu_count; i++)
		for (size_t k = 0; k < m->gpus[i].near_count; k++)
			used[m->gpus[i].near[k].port] = true;
	for (size_t i = 0; i < m->port_count; i++) {
		const struct map_port *p = &m->ports[i];
		used[i] = used[i] && listable(p);
		any |= used[i];
		differ |= !used[i] && p->state == LINK_ACTIVE && listable(p);
	}
	if (any && differ)
		rc = write_used(out, m, used);
	free(used);
	return rc;
}

char *map_env_text(const struct map *m)
{
	struct io_text out = { 0 };
	int rc;

	io_add(&out, "fabric-env 1 %s\n", m->boot_id ? m->boot_id : "-");
	rc = write_nccl(&out, m);
	for (size_t i = 0; rc == 0 && i < m->gpu_count; i++)
		rc = write_gpu(&out, m, &m->gpus[i]);
	out.failed = out.failed || rc < 0;
	return io_end(&out);
}
