/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * yaml_conf.c - topology.yaml, which Slurm has from 25.05 on; see layout.h and yaml_conf.h.
 *
 * A list of topologies, each with a name and one of tree, block, flat, ring and torus3d. It is read
 * with libyaml, whose documents know their lines, and written by hand: names and host lists are put
 * between quotes only where YAML would take them for something else.
 */
#include "yaml_conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "io.h"

/* What the elements of a kind are called, and their list; by enum layout_kind. */
static const char *const names[] = { "", "switch", "block", "", "ring", "" };
static const char *const lists[] = { "", "switches", "blocks", "", "rings", "" };

struct reader {
	yaml_document_t document;
	struct layout *l;
	struct findings *findings;
};

static size_t line_of(const yaml_node_t *node)
{
	return node->start_mark.line + 1;
}

/* The text of a scalar, or NULL. It ends at the first NUL byte: no name has one. */
static const char *scalar(const yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
						      : NULL;
}

static bool truth(const char *text)
{
	return text && (strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0 ||
			strcasecmp(text, "on") == 0 || strcmp(text, "1") == 0);
}

static int copy(struct reader *r, const char *key, yaml_node_t *value, char **where)
{
	const char *text = scalar(value);

	if (!text) {
		findings_add(r->findings, true, line_of(value), "%s takes a text", key);
		return 0;
	}
	free(*where);
	*where = strdup(text);
	return *where ? 0 : -ENOMEM;
}

/* Calls take() for each pair of a mapping. */
static int each_pair(struct reader *r, yaml_node_t *node, const char *what,
		     int (*take)(struct reader *, const char *, yaml_node_t *, void *), void *arg)
{
	int rc = 0;

	if (node->type != YAML_MAPPING_NODE) {
		findings_add(r->findings, true, line_of(node), "%s is no mapping of keys to values",
			     what);
		return 0;
	}
	for (yaml_node_pair_t *p = node->data.mapping.pairs.start;
	     rc == 0 && p < node->data.mapping.pairs.top; p++) {
		const char *key = scalar(yaml_document_get_node(&r->document, p->key));
		rc = take(r, key ? key : "", yaml_document_get_node(&r->document, p->value), arg);
	}
	return rc;
}

/* Calls take() for each element of a list. */
static int each_element(struct reader *r, yaml_node_t *node, const char *what,
			int (*take)(struct reader *, yaml_node_t *, void *), void *arg)
{
	int rc = 0;

	if (node->type != YAML_SEQUENCE_NODE) {
		findings_add(r->findings, true, line_of(node), "%s is no list", what);
		return 0;
	}
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     rc == 0 && i < node->data.sequence.items.top; i++)
		rc = take(r, yaml_document_get_node(&r->document, *i), arg);
	return rc;
}

static int take_size(struct reader *r, yaml_node_t *node, void *arg)
{
	struct layout_topology *t = arg;

	(void)r;
	if (t->size_count < LAYOUT_SIZES_MAX)
		t->sizes[t->size_count++] = scalar(node) ? strtol(scalar(node), NULL, 10) : 0;
	return 0;
}

struct place {
	struct layout_topology *t;
	struct layout_item *item;
};

static int take_item_key(struct reader *r, const char *key, yaml_node_t *value, void *arg)
{
	const struct place *p = arg;

	if (strcmp(key, names[p->t->kind]) == 0)
		return copy(r, key, value, &p->item->name);
	if (strcmp(key, "nodes") == 0)
		return copy(r, key, value, &p->item->nodes);
	if (p->t->kind == LAYOUT_TREE && strcmp(key, "children") == 0)
		return copy(r, key, value, &p->item->children);
	findings_add(r->findings, false, line_of(value),
		     "\"%.80s\" is no key of a %s: slurmctld passes over it", key,
		     names[p->t->kind]);
	return 0;
}

static int take_item(struct reader *r, yaml_node_t *node, void *arg)
{
	struct layout_topology *t = arg;
	struct place p = { t, layout_add_item(t, line_of(node)) };
	int rc;

	if (!p.item)
		return -ENOMEM;
	rc = each_pair(r, node, layout_kind_name(t->kind), take_item_key, &p);
	if (rc == 0 && !p.item->name) {
		findings_add(r->findings, true, p.item->line, "an element without a name");
		p.item->name = strdup("");
	}
	return rc < 0 || p.item->name ? rc : -ENOMEM;
}

static int take_body_key(struct reader *r, const char *key, yaml_node_t *value, void *arg)
{
	struct layout_topology *t = arg;

	if (*key && strcmp(key, lists[t->kind]) == 0)
		return each_element(r, value, key, take_item, t);
	if (t->kind == LAYOUT_BLOCK && strcmp(key, "block_sizes") == 0) {
		t->sizes_line = line_of(value);
		return each_element(r, value, key, take_size, t);
	}
	if (t->kind != LAYOUT_TORUS)
		findings_add(r->findings, false, line_of(value),
			     "\"%.80s\" is no key of a %s: slurmctld passes over it", key,
			     layout_kind_name(t->kind));
	return 0;
}

static int take_topology_key(struct reader *r, const char *key, yaml_node_t *value, void *arg)
{
	struct layout_topology *t = arg;
	enum layout_kind kind = LAYOUT_NONE;

	if (strcmp(key, "topology") == 0)
		return copy(r, key, value, &t->name);
	if (strcmp(key, "cluster_default") == 0) {
		t->is_default = truth(scalar(value));
		return 0;
	}
	for (int i = LAYOUT_TREE; i <= LAYOUT_TORUS; i++)
		if (strcmp(key, layout_kind_name((enum layout_kind)i)) == 0)
			kind = (enum layout_kind)i;
	if (kind == LAYOUT_NONE) {
		findings_add(r->findings, false, line_of(value),
			     "\"%.80s\" is no key of a topology: slurmctld passes over it", key);
		return 0;
	}
	if (kind == LAYOUT_FLAT && !truth(scalar(value)))
		return 0;
	if (t->kind != LAYOUT_NONE)
		findings_add(r->findings, true, line_of(value),
			     "%s: a topology has one of tree, block, flat, ring and torus3d",
			     t->name ? t->name : "");
	t->kind = kind;
	return kind == LAYOUT_FLAT ? 0 : each_pair(r, value, key, take_body_key, t);
}

static int take_topology(struct reader *r, yaml_node_t *node, void *arg)
{
	struct layout_topology *t = layout_add(r->l);
	int rc;

	(void)arg;
	if (!t)
		return -ENOMEM;
	t->line = line_of(node);
	rc = each_pair(r, node, "a topology", take_topology_key, t);
	if (rc == 0 && t->kind == LAYOUT_NONE)
		findings_add(r->findings, true, t->line,
			     "%s: no tree, block, flat, ring or torus3d",
			     t->name ? t->name : "a topology");
	if (rc == 0 && !t->name)
		findings_add(r->findings, false, t->line,
			     "a topology without its name (topology:): no partition can have it");
	return rc;
}

int layout_parse_yaml(const char *text, size_t len, struct layout *l, struct findings *findings)
{
	struct reader r = { .l = l, .findings = findings };
	yaml_parser_t parser;
	yaml_node_t *root;
	int rc = 0;

	memset(l, 0, sizeof(*l));
	l->yaml = true;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	if (!yaml_parser_load(&parser, &r.document)) {
		/* libyaml 0.2.5 does not always say that it has no memory */
		if (parser.error == YAML_MEMORY_ERROR || parser.error == YAML_NO_ERROR)
			rc = -ENOMEM;
		else
			findings_add(findings, true, parser.problem_mark.line + 1, "no YAML: %s",
				     parser.problem ? parser.problem : "");
		yaml_parser_delete(&parser);
		return rc;
	}
	root = yaml_document_get_root_node(&r.document);
	if (root)
		rc = each_element(&r, root, "the file", take_topology, NULL);
	yaml_document_delete(&r.document);
	yaml_parser_delete(&parser);
	return rc;
}

/* Words that YAML, or Slurm's reader of it, takes for something else than a text. */
static bool is_plain(const char *text)
{
	static const char *const words[] = { "true", "false", "yes",  "no",  "on",  "off",
					     "y",    "n",     "null", "nan", "inf", "infinity" };

	if (!((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z')))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	return strspn(text,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-[],") ==
	       strlen(text);
}

static void add_text(struct io_text *out, const char *key, const char *text)
{
	io_add(out, "%s", key);
	if (is_plain(text)) {
		io_add(out, "%s\n", text);
		return;
	}
	io_add(out, "\"");
	for (const char *p = text; *p; p++)
		io_add(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
	io_add(out, "\"\n");
}

static void add_body(struct io_text *out, const struct layout_topology *t)
{
	if (t->size_count)
		io_add(out, "    block_sizes:\n");
	for (size_t i = 0; i < t->size_count; i++)
		io_add(out, "      - %ld\n", t->sizes[i]);
	io_add(out, "    %s:\n", lists[t->kind]);
	for (size_t i = 0; i < t->count; i++) {
		io_add(out, "    - %s", names[t->kind]);
		add_text(out, ": ", t->items[i].name);
		if (t->items[i].nodes)
			add_text(out, "      nodes: ", t->items[i].nodes);
		if (t->items[i].children)
			add_text(out, "      children: ", t->items[i].children);
	}
}

char *yaml_conf_text(const struct layout *l, const char *comments)
{
	struct io_text out = { 0 };

	io_add(&out, "%s", comments);
	for (size_t i = 0; i < l->count; i++) {
		const struct layout_topology *t = &l->topologies[i];
		add_text(&out, "- topology: ", t->name);
		io_add(&out, "  cluster_default: %s\n", t->is_default ? "true" : "false");
		if (t->kind == LAYOUT_FLAT) {
			io_add(&out, "  flat: true\n");
			continue;
		}
		io_add(&out, "  %s:\n", layout_kind_name(t->kind));
		add_body(&out, t);
	}
	return io_end(&out);
}
