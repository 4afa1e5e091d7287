/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wanted.c - see wanted.h.
 */
#include "wanted.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hosts.h"
#include "slurmconf.h"

void wanted_clear(struct wanted_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->nodes[i].host != list->nodes[i].name)
			free(list->nodes[i].host);
		free(list->nodes[i].name);
	}
	free(list->nodes);
	memset(list, 0, sizeof(*list));
}

/* Takes the names over; those that do not fit in are freed. */
static int add_all(struct wanted_list *list, char **names, size_t count, char **hosts,
		   size_t host_count)
{
	struct wanted *bigger = reallocarray(list->nodes, list->count + count + 1, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	list->nodes = bigger;
	for (size_t i = 0; i < count; i++) {
		struct wanted *node = &bigger[list->count];
		node->name = node->host = names[i];
		names[i] = NULL;
		list->count++;
		if (hosts && !(node->host = strdup(hosts[host_count == 1 ? 0 : i]))) {
			node->host = node->name;
			return -ENOMEM;
		}
		if (node->host != node->name)
			node->host[strcspn(node->host, ".")] = '\0';
	}
	return 0;
}

/* NodeName=... and what NodeHostname says: as many names, or one for all (several slurmd there). */
static int add_lists(struct wanted_list *list, const char *names, const char *hosts,
		     struct err *err)
{
	char **expanded = NULL, **host_names = NULL;
	size_t count = 0, host_count = 0;
	int rc = hosts_expand(names, WANTED_MAX, &expanded, &count, err);

	if (rc == 0 && hosts)
		rc = hosts_expand(hosts, WANTED_MAX, &host_names, &host_count, err);
	if (rc == 0 && hosts && host_count != 1 && host_count != count)
		rc = err_set(err, EINVAL, "%.80s has %zu names and its NodeHostname %zu", names,
			     count, host_count);
	if (rc == 0 && add_all(list, expanded, count, host_names, host_count) < 0)
		rc = err_set(err, ENOMEM, "out of memory");
	hosts_free(expanded, count);
	hosts_free(host_names, host_count);
	return rc;
}

int wanted_parse(struct wanted_list *list, const char *hosts, struct err *err)
{
	memset(list, 0, sizeof(*list));
	return add_lists(list, hosts, NULL, err);
}

int wanted_load(struct wanted_list *list, const char *path, struct err *err)
{
	struct slurmconf conf;
	int rc = slurmconf_load(path, &conf, err);

	memset(list, 0, sizeof(*list));
	for (size_t i = 0; rc == 0 && i < conf.node_count; i++)
		rc = add_lists(list, conf.nodes[i].names, conf.nodes[i].hosts, err);
	if (rc == 0 && list->count == 0)
		rc = err_set(err, ENODATA, "slurm.conf has no NodeName");
	slurmconf_clear(&conf);
	return rc;
}
