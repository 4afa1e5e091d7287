/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmconf.c - see slurmconf.h.
 *
 * slurm.conf is lines of Key=Value pairs: keys in any case, values bare or in double quotes,
 * comments from '#', a backslash at the end joins the next line, and "Include FILE", which is
 * looked for beside the file when it is no absolute path (slurm.conf(5)). Only what can stand in a
 * host name or address is taken.
 */
#include "slurmconf.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io.h"

#define FILE_MAX_BYTES (16u << 20)
#define FILES_MAX 64 /* the file and all that it includes, so that a circle ends */
#define HOSTS_MAX 64

struct reader {
	struct slurmconf *out;
	const char *path; /* of the first file; the others lie beside it */
	int files;
};

void slurmconf_clear(struct slurmconf *s)
{
	free(s->cluster);
	for (size_t i = 0; i < s->host_count; i++)
		free(s->hosts[i]);
	free(s->hosts);
	for (size_t i = 0; i < s->node_count; i++) {
		free(s->nodes[i].names);
		free(s->nodes[i].hosts);
	}
	free(s->nodes);
	for (size_t i = 0; i < s->partition_count; i++) {
		free(s->partitions[i].name);
		free(s->partitions[i].nodes);
	}
	free(s->partitions);
	free(s->topology_plugin);
	memset(s, 0, sizeof(*s));
}

struct span {
	const char *at;
	size_t len;
};

static bool is(struct span word, const char *text)
{
	return word.len == strlen(text) && strncasecmp(word.at, text, word.len) == 0;
}

/* The next Key=Value of a line; false at its end. A word without '=' is a key without a value. */
static bool next_pair(const char **line, struct span *key, struct span *value)
{
	const char *p = *line + strspn(*line, " \t");

	if (*p == '\0' || *p == '#')
		return false;
	*key = (struct span){ p, strcspn(p, " \t=#") };
	*value = (struct span){ p + key->len, 0 };
	p += key->len;
	p += strspn(p, " \t");
	if (*p == '=') {
		p++;
		p += strspn(p, " \t");
		if (*p == '"') {
			*value = (struct span){ p + 1, strcspn(p + 1, "\"") };
			p = value->at + value->len;
			p += *p == '"';
		} else {
			*value = (struct span){ p, strcspn(p, " \t#") };
			p += value->len;
		}
	}
	*line = p;
	return true;
}

/* A copy of what accepted characters of the word there are from its start; *copy is NULL for none.
 */
static int copy_word(struct span word, const char *others, char **copy)
{
	size_t len = 0;

	while (len < word.len &&
	       (isalnum((unsigned char)word.at[len]) || strchr(others, word.at[len])))
		len++;
	*copy = len ? strndup(word.at, len) : NULL;
	return len && !*copy ? -ENOMEM : 0;
}

static int take_cluster(struct slurmconf *out, struct span value)
{
	char *name;
	int rc = copy_word(value, "_-.", &name);

	for (char *c = name; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (!name)
		return rc;
	free(out->cluster);
	out->cluster = name;
	return 0;
}

/* "name" or "name(address)". */
static int take_host(struct slurmconf *out, struct span value)
{
	const char *open = memchr(value.at, '(', value.len);
	char **more, *host;
	bool known = false;
	int rc;

	if (open)
		value = (struct span){ open + 1, (size_t)(value.at + value.len - open - 1) };
	rc = copy_word(value, "_-.:", &host);
	for (size_t i = 0; host && i < out->host_count; i++)
		known |= strcmp(out->hosts[i], host) == 0;
	if (!host || known || out->host_count == HOSTS_MAX) {
		free(host);
		return rc;
	}
	more = reallocarray(out->hosts, out->host_count + 1, sizeof(*more));
	if (!more) {
		free(host);
		return -ENOMEM;
	}
	out->hosts = more;
	out->hosts[out->host_count++] = host;
	return 0;
}

/* Begins a line of nodes; what belongs to it follows on the line. */
static int take_nodes(struct slurmconf *out, struct span value)
{
	struct slurmconf_node *node;

	if (out->node_count == out->node_room) {
		size_t more = out->node_room ? out->node_room * 2 : 16;
		struct slurmconf_node *bigger = reallocarray(out->nodes, more, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		out->nodes = bigger;
		out->node_room = more;
	}
	node = &out->nodes[out->node_count];
	*node = (struct slurmconf_node){ strndup(value.at, value.len), NULL };
	return node->names ? (out->node_count++, 0) : -ENOMEM;
}

/* Begins a line of a partition; what belongs to it follows on the line. */
static int take_partition(struct slurmconf *out, struct span value)
{
	struct slurmconf_partition *bigger =
		reallocarray(out->partitions, out->partition_count + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	out->partitions = bigger;
	bigger += out->partition_count;
	*bigger = (struct slurmconf_partition){ .name = strndup(value.at, value.len) };
	return bigger->name ? (out->partition_count++, 0) : -ENOMEM;
}

static int set_text(char **text, struct span value)
{
	free(*text);
	*text = strndup(value.at, value.len);
	return *text ? 0 : -ENOMEM;
}

static int read_file(struct reader *r, const char *path, struct err *err);

/* What is included and can't be read is Slurm's business, not ours. */
static int include(struct reader *r, const char *line, struct err *err)
{
	const char *name = line + strspn(line, " \t"), *slash = strrchr(r->path, '/');
	size_t len = strcspn(name, " \t#");
	char *path;
	int rc;

	if (len == 0)
		return 0;
	path = *name == '/' || !slash
		       ? strndup(name, len)
		       : io_format("%.*s/%.*s", (int)(slash - r->path), r->path, (int)len, name);
	rc = path ? read_file(r, path, err) : -ENOMEM;
	free(path);
	return rc == -ENOMEM ? rc : 0;
}

static int take_line(struct reader *r, const char *line, struct err *err)
{
	struct span key, value;
	bool nodes = false, partition = false;
	int rc = 0;

	while (rc == 0 && next_pair(&line, &key, &value)) {
		if (is(key, "Include"))
			return include(r, line, err);
		if (is(key, "ClusterName"))
			rc = take_cluster(r->out, value);
		else if (is(key, "SlurmctldHost"))
			rc = take_host(r->out, value);
		else if (is(key, "NodeName") && value.len && !is(value, "DEFAULT"))
			rc = (nodes = true, take_nodes(r->out, value));
		else if (is(key, "NodeHostname") && value.len && nodes)
			rc = set_text(&r->out->nodes[r->out->node_count - 1].hosts, value);
		else if (is(key, "PartitionName") && value.len && !is(value, "DEFAULT"))
			rc = (partition = true, take_partition(r->out, value));
		else if (is(key, "Nodes") && value.len && partition)
			rc = set_text(&r->out->partitions[r->out->partition_count - 1].nodes,
				      value);
		else if (is(key, "Default") && partition)
			r->out->partitions[r->out->partition_count - 1].is_default =
				is(value, "YES");
		else if (is(key, "TopologyPlugin") && value.len)
			rc = set_text(&r->out->topology_plugin, value);
	}
	return rc;
}

/* A line that ends in a backslash goes on in the next one. */
static void join_lines(char *text)
{
	for (char *p = text; (p = strchr(p, '\\')); p++) {
		size_t end = 1 + (p[1] == '\r');
		if (p[end] == '\n')
			memset(p, ' ', end + 1);
	}
}

static int read_file(struct reader *r, const char *path, struct err *err)
{
	char *text, *save = NULL;
	size_t len;
	int rc;

	if (++r->files > FILES_MAX)
		return err_set(err, ELOOP, "%s: more than %d files are included", path, FILES_MAX);
	rc = io_read(path, FILE_MAX_BYTES, &text, &len, err);
	if (rc < 0)
		return rc;
	join_lines(text);
	for (char *line = strtok_r(text, "\r\n", &save); rc == 0 && line;
	     line = strtok_r(NULL, "\r\n", &save))
		rc = take_line(r, line, err);
	free(text);
	return rc < 0 ? err_set(err, -rc, "%s: out of memory", path) : 0;
}

int slurmconf_load(const char *path, struct slurmconf *out, struct err *err)
{
	const char *named = path && *path ? path : secure_getenv("SLURM_CONF");
	static const char *const usual[] = { "/etc/slurm/slurm.conf",
					     "/run/slurm/conf/slurm.conf" };
	size_t count = named && *named ? 1 : sizeof(usual) / sizeof(usual[0]);
	int rc = -ENOENT;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; rc == -ENOENT && i < count; i++) {
		struct reader r = { out, named && *named ? named : usual[i], 0 };
		rc = read_file(&r, r.path, err);
	}
	return rc;
}
