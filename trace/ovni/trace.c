/* SPDX-License-Identifier: MIT */
/* trace: walks the trace directory, and opens its streams (see trace.h). */
#include "trace/ovni/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/base/array.h"
#include "trace/base/files/input.h"
#include "trace/base/hash.h"
#include "trace/base/log.h"
#include "trace/base/text.h"

#define METADATA_VERSION 3
#define TEXTS_MOST	 (24u << 20) /* bytes of all stream.json that are kept */
#define TEXT_MOST	 (32u << 10) /* and of one */
#define ENTRIES_BYTES	 (32u << 10) /* of directory entries per getdents64() */

struct trace_text { /* NULL: not kept, read the file */
	char *text;
	size_t size;
};

struct list {
	char **paths;
	size_t n;
	uint32_t room;
};

/* The walk. Directories wait in a list, so that depth costs no descriptors. */
struct walk {
	struct trace *trace;
	struct list streams, directories;
	char entries[ENTRIES_BYTES] __attribute__((aligned(8)));
};

/* Adds `path`, which it owns even after a failure. */
static int list_add(struct list *list, char *path)
{
	char **grown = stack_more(list->paths, list->n, &list->room, sizeof(*grown));

	if (!grown) {
		free(path);
		return -ENOMEM;
	}
	list->paths = grown;
	list->paths[list->n++] = path;
	return 0;
}

static void list_free(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->paths[i]);
	free(list->paths);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool trace_is_removed(const char *name)
{
	return !strncmp(name, TRACE_REMOVED, strlen(TRACE_REMOVED));
}

/* Refuses an entry: it would be a stream, or hold streams, that no program may read. */
static int refuse(const struct walk *w, const char *path, const char *name, int why)
{
	log_error("%s/%s%s%s: %s", w->trace->path, path, *path ? "/" : "", name,
		  input_why(why, INPUT_TEXT_MAX));
	return why;
}

/* Adds one entry of the directory `path` to its list: stream or directory. A link that may be
 * either is refused, since without it the trace would look whole. */
static int take(struct walk *w, int fd, const char *path, const struct dirent64 *entry)
{
	const char *name = entry->d_name;
	bool meta = !strcmp(name, STREAM_META);
	unsigned char type = entry->d_type;
	struct stat st;
	char *full;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (type == DT_UNKNOWN) {
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT ? 0 : -errno;
		type = (unsigned char)IFTODT(st.st_mode);
	}
	if (type == DT_LNK && (meta || (!fstatat(fd, name, &st, 0) && S_ISDIR(st.st_mode))))
		return refuse(w, path, name, -ELOOP);
	if (meta && type != DT_REG)
		return refuse(w, path, name, -EINVAL);
	if (meta) {
		full = strdup(path);
		return full ? list_add(&w->streams, full) : -ENOMEM;
	}
	if (type != DT_DIR || trace_is_removed(name))
		return 0;
	if (asprintf(&full, "%s%s%s", path, *path ? "/" : "", name) < 0)
		return -ENOMEM;
	return list_add(&w->directories, full);
}

/* Reads the directory `path`. */
static int visit(struct walk *w, const char *path)
{
	ssize_t n;
	int fd, err;

	fd = input_open_directory(w->trace->fd, path);
	if (fd < 0) {
		err = fd;
		goto failed;
	}
	while ((n = getdents64(fd, w->entries, sizeof(w->entries))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(w->entries + at);

			err = take(w, fd, path, entry);
			if (err == -ELOOP || err == -EINVAL) /* reported */
				goto out;
			if (err < 0)
				goto failed;
			at += entry->d_reclen;
		}
	}
	err = n < 0 ? -errno : 0;
	if (!err)
		goto out;
failed:
	log_error("cannot read the directory '%s%s%s': %s", w->trace->path, *path ? "/" : "", path,
		  input_why(err, 0));
out:
	if (fd >= 0)
		close(fd);
	return err;
}

static int walk_all(struct walk *w)
{
	char *path = strdup("");
	int err = path ? list_add(&w->directories, path) : -ENOMEM;

	while (w->directories.n > 0) {
		path = w->directories.paths[--w->directories.n];
		err = visit(w, path);
		free(path);
		if (err)
			break;
	}
	return err;
}

int trace_open_any(struct trace *trace, const char *path)
{
	struct walk w = {.trace = trace};
	size_t len = strlen(path);
	const char *name;
	int err;

	memset(trace, 0, sizeof(*trace));
	trace->fd = -1;
	while (len > 1 && path[len - 1] == '/')
		len--;
	trace->path = strndup(path, len);
	if (!trace->path)
		return log_no_memory("while opening %s", path);
	name = strrchr(trace->path, '/');
	if (trace_is_removed(name ? name + 1 : trace->path)) {
		log_error("%s is a trace that a recorder was removing: parts of it are missing",
			  trace->path);
		err = -EINVAL;
		goto fail;
	}
	trace->fd = open(trace->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (trace->fd < 0) {
		err = -errno;
		log_error("cannot open the trace directory '%s': %s", trace->path, strerror(-err));
		goto fail;
	}
	err = walk_all(&w);
	list_free(&w.directories);
	trace->streams = w.streams.paths;
	trace->nstreams = w.streams.n;
	if (err < 0)
		goto fail;
	if (w.streams.n)
		qsort(w.streams.paths, w.streams.n, sizeof(char *), by_bytes);
	return 0;
fail:
	if (err == -ENOMEM)
		log_no_memory("while reading %s", trace->path);
	trace_close(trace);
	return err;
}

void trace_close(struct trace *trace)
{
	struct list streams = {.paths = trace->streams, .n = trace->nstreams};

	trace_drop_metadata(trace);
	free(trace->text_bytes);
	free(trace->texts);
	free(trace->fixes);
	clock_table_fini(&trace->clocks);
	list_free(&streams);
	if (trace->path && trace->fd >= 0)
		close(trace->fd);
	free(trace->path);
	memset(trace, 0, sizeof(*trace));
	trace->fd = -1;
}

/* ---- one trace, or several ---- */

#define NAMED_MOST 20 /* traces that the message names */

/* The directories PREFIX/LOOM of streams; LOOM is the first part of the path that begins so. */
struct loom_dir {
	const char *path; /* of a stream in it */
	size_t prefix;	  /* bytes of PREFIX, with its slash */
	size_t loom;	  /* bytes of LOOM */
};

/* Returns false for a stream outside of such a directory. */
static bool find_loom(const char *path, struct loom_dir *dir)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (strncmp(part, "loom.", 5) || !strchr(part, '/'))
			continue;
		*dir = (struct loom_dir){path, (size_t)(part - path), strcspn(part, "/")};
		return true;
	}
	return false;
}

static int compare_prefixes(const struct loom_dir *a, const struct loom_dir *b)
{
	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return memcmp(a->path, b->path, a->prefix);
}

static int compare_looms(const void *pa, const void *pb)
{
	const struct loom_dir *a = pa, *b = pb;

	if (a->loom != b->loom)
		return a->loom < b->loom ? -1 : 1;
	return memcmp(a->path + a->prefix, b->path + b->prefix, a->loom);
}

/* `dirs` are in the order of the paths. */
static void name_traces(const struct trace *trace, const struct loom_dir *dirs, size_t n)
{
	struct text_stream stream;
	char *names = NULL;
	size_t traces = 0;

	if (!text_stream_open(&stream))
		goto out;
	for (size_t i = 0; i < n; i++) {
		const struct loom_dir *d = &dirs[i];
		/* a trace in the directory itself has only the name of its loom */
		size_t shown = d->prefix ? d->prefix - 1 : d->loom;

		if (i && !compare_prefixes(d - 1, d))
			continue;
		if (traces++ < NAMED_MOST)
			fprintf(stream.out, "%s %s/%.*s", traces > 1 ? "," : "", trace->path,
				(int)shown, d->path);
	}
	if (traces > NAMED_MOST)
		fprintf(stream.out, " and %zu more", traces - NAMED_MOST);
	names = text_stream_close(&stream);
out:
	if (names)
		log_error("%s holds %zu traces; choose one of them:%s", trace->path, traces, names);
	else
		log_no_memory("while opening %s", trace->path);
	free(names);
}

/* One loom in two places: separate traces, as of --rotate. Several looms, each in a place of its
 * own, are one trace. */
static int refuse_several(const struct trace *trace)
{
	struct loom_dir *dirs = NULL, *sorted = NULL, dir;
	size_t n = 0;
	int err = -ENOMEM;

	for (size_t i = 0; i < trace->nstreams; i++) {
		struct loom_dir *added;

		if (!find_loom(trace->streams[i], &dir) ||
		    (n && !compare_prefixes(&dirs[n - 1], &dir) &&
		     !compare_looms(&dirs[n - 1], &dir)))
			continue;
		added = ARRAY_ADD(dirs, n);
		if (!added)
			goto out;
		*added = dir;
	}
	sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted)
		goto out;
	err = 0;
	if (n) {
		memcpy(sorted, dirs, n * sizeof(*dirs));
		qsort(sorted, n, sizeof(*sorted), compare_looms);
	}
	for (size_t i = 1; i < n; i++) {
		if (compare_looms(&sorted[i - 1], &sorted[i]) ||
		    !compare_prefixes(&sorted[i - 1], &sorted[i]))
			continue;
		name_traces(trace, dirs, n);
		err = -EINVAL;
		break;
	}
out:
	free(sorted);
	free(dirs);
	return err;
}

int trace_open(struct trace *trace, const char *path)
{
	int err = trace_open_any(trace, path);

	if (err)
		return err;
	err = refuse_several(trace);
	if (err == -ENOMEM)
		log_no_memory("while opening %s", trace->path);
	if (err)
		trace_close(trace);
	return err;
}

/* The metadata of stream i. `read`: if not NULL, it gets the text, for free(). */
static struct json *load_metadata(const struct trace *trace, size_t i, struct trace_text *read)
{
	const char *path = trace->streams[i];
	bool dropped = !trace->texts || !trace->text_bytes->n;
	struct trace_text text = dropped ? (struct trace_text){NULL, 0} : trace->texts[i];
	struct json *meta = NULL;
	const struct json *version;
	bool kept = text.text;
	char *name;

	if (asprintf(&name, "%s%s" STREAM_META, path, *path ? "/" : "") < 0) {
		log_no_memory("while reading %s/" STREAM_META, path);
		return NULL;
	}
	if (!kept)
		text.text = json_read(trace->fd, name, &text.size);
	if (!text.text)
		goto out;
	meta = json_parse(text.text, text.size, name);
	if (read)
		*read = text;
	else if (!kept)
		free(text.text);
	if (!meta)
		goto out;
	version = json_get(meta, "version");
	if (!json_is_object(meta))
		log_error("%s: the metadata must be a JSON object", name);
	else if (!json_is_number(version))
		log_error("%s: the number \"version\" is missing", name);
	else if (json_int(version) != METADATA_VERSION)
		log_error("%s: version %lld of the metadata, only %d is known", name,
			  (long long)json_int(version), METADATA_VERSION);
	else
		goto out;
	json_free(meta);
	meta = NULL;
out:
	free(name);
	return meta;
}

struct json *trace_metadata(const struct trace *trace, size_t i)
{
	return load_metadata(trace, i, NULL);
}

void trace_drop_metadata(const struct trace *trace)
{
	if (trace->text_bytes)
		pool_free(trace->text_bytes);
}

/* ---- open streams and their owners ---- */

static int copy_text(char **out, const char *text)
{
	*out = text ? strdup(text) : NULL;
	return text && !*out ? -ENOMEM : 0;
}

static int read_fds(struct owner *owner, const struct json *list)
{
	for (const struct json *node = json_first(list); node; node = json_next(node)) {
		const char *name = json_string(json_key(node, "name"));
		uint64_t from, to;
		int64_t fd = json_int(json_key(node, "fd"));
		struct fd_name *added;

		if (!name || fd < 0 || fd > INT32_MAX || !json_u64(json_key(node, "from"), &from) ||
		    !json_u64(json_key(node, "to"), &to) || to > INT64_MAX || from > to)
			continue;
		if (owner->nfds == OWNER_FDS_MAX)
			break;
		added = ARRAY_ADD(owner->fds, owner->nfds);
		if (!added)
			return -ENOMEM;
		*added = (struct fd_name){(int64_t)from, (int64_t)to, (int32_t)fd, strdup(name)};
		if (!added->name)
			return -ENOMEM;
	}
	return 0;
}

static int read_futexes(struct owner *owner, const struct json *list)
{
	for (const struct json *node = json_first(list); node; node = json_next(node)) {
		const char *name = json_string(json_key(node, "name"));
		uint64_t address, from;
		struct futex_name *added;

		if (!name || !json_u64(json_key(node, "address"), &address) ||
		    !json_u64(json_key(node, "from"), &from) || from > INT64_MAX)
			continue;
		if (owner->nfutexes == OWNER_FUTEXES_MAX)
			break;
		added = ARRAY_ADD(owner->futexes, owner->nfutexes);
		if (!added)
			return -ENOMEM;
		*added = (struct futex_name){address, (int64_t)from, strdup(name)};
		if (!added->name)
			return -ENOMEM;
	}
	return 0;
}

bool loom_is_accelerator(const char *loom)
{
	static const char prefix[] = "loomsim.";

	return loom && !strncmp(loom, prefix, sizeof(prefix) - 1);
}

/* The marks of --why=prio: a single type with that title, which ovni-merge may have renumbered. */
static int read_priorities(struct owner *owner, const struct json *mark)
{
	for (; mark; mark = json_next(mark)) {
		const char *title = json_string(json_key(mark, "title"));
		const char *kind = json_string(json_key(mark, "chan_type"));

		if (title && kind && !strcmp(title, "Priority") && !strcmp(kind, "single"))
			break;
	}
	if (!mark)
		return 0;
	owner->priority_type = (int32_t)strtol(json_name(mark), NULL, 10);
	for (const struct json *node = json_first(json_key(mark, "labels"));
	     node && owner->npriorities < OWNER_PRIORITIES_MAX; node = json_next(node)) {
		struct priority_label *added;

		if (!json_string(node))
			continue;
		added = ARRAY_ADD(owner->priorities, owner->npriorities);
		if (!added)
			return -ENOMEM;
		*added = (struct priority_label){strtoll(json_name(node), NULL, 10),
						 strdup(json_string(node))};
		if (!added->text)
			return -ENOMEM;
	}
	return 0;
}

int owner_init(struct owner *owner, const struct json *meta)
{
	const struct json *rank = json_get(meta, "ovni.rank");
	const struct json *nranks = json_get(meta, "bpf.nranks");
	const char *part = json_string(json_get(meta, "ovni.part"));
	const char *loom = json_string(json_get(meta, "ovni.loom"));
	const char *machine = json_string(json_get(meta, "bpf.session.machine"));

	memset(owner, 0, sizeof(*owner));
	owner->pid = json_int(json_get(meta, "ovni.pid"));
	owner->tid = json_int(json_get(meta, "ovni.tid"));
	owner->app_id = json_int(json_get(meta, "ovni.app_id"));
	owner->rank = json_is_number(rank) ? json_int(rank) : -1;
	if (!json_is_number(rank))
		rank = json_get(meta, "bpf.rank");
	owner->known_rank = json_is_number(rank) ? json_int(rank) : -1;
	if (!json_is_number(nranks))
		nranks = json_get(meta, "ovni.nranks");
	owner->nranks = json_is_number(nranks) ? json_int(nranks) : -1;
	owner->parent = json_int(json_get(meta, "bpf.parent"));
	(void)json_u64(json_get(meta, "bpf.repairs"), &owner->repairs);
	owner->kernel_thread = json_bool(json_get(meta, "bpf.kernel_thread"));
	owner->requires_mpi = json_get(meta, "ovni.require.mpi") != NULL;
	owner->thread = part && !strcmp(part, "thread");
	owner->recorded = json_get(meta, "bpf.events") != NULL;
	owner->counters = json_bool(json_get(meta, "bpf.counters"));
	owner->irq = json_bool(json_get(meta, "bpf.session.irq"));
	owner->locks = json_bool(json_get(meta, "bpf.session.locks")) ||
		       json_bool(json_get(meta, "bpf.locks"));
	owner->finished = json_number(json_get(meta, "ovni.finished")) == 1;
	owner->accelerator = loom_is_accelerator(loom);
	owner->has_host = json_get(meta, "ovni.loom_cpus") || json_get(meta, "bpf.session");
	owner->has_marks = json_get(meta, "ovni.mark") != NULL;
	owner->has_names = json_get(meta, "bpf.names") != NULL;
	if (copy_text(&owner->loom, loom ? loom : "") < 0 ||
	    copy_text(&owner->name, json_string(json_get(meta, "bpf.name"))) < 0 ||
	    copy_text(&owner->cgroup, json_string(json_get(meta, "bpf.cgroup"))) < 0 ||
	    copy_text(&owner->machine,
		      machine ? machine : json_string(json_get(meta, "bpf.machine"))) < 0 ||
	    read_fds(owner, json_get(meta, "bpf.fds")) < 0 ||
	    read_futexes(owner, json_get(meta, "bpf.futexes")) < 0 ||
	    read_priorities(owner, json_first(json_get(meta, "ovni.mark"))) < 0) {
		owner_fini(owner);
		return -ENOMEM;
	}
	return 0;
}

void owner_fini(struct owner *owner)
{
	free(owner->loom);
	free(owner->name);
	free(owner->cgroup);
	free(owner->machine);
	for (size_t i = 0; i < owner->nfds; i++)
		free(owner->fds[i].name);
	free(owner->fds);
	owner->loom = owner->name = owner->cgroup = owner->machine = NULL;
	for (size_t i = 0; i < owner->nfutexes; i++)
		free(owner->futexes[i].name);
	free(owner->futexes);
	for (size_t i = 0; i < owner->npriorities; i++)
		free(owner->priorities[i].text);
	free(owner->priorities);
	owner->fds = NULL;
	owner->futexes = NULL;
	owner->priorities = NULL;
	owner->npriorities = 0;
	owner->nfds = owner->nfutexes = 0;
}

static int open_stream(struct source *source, size_t i, const struct json *meta)
{
	const char *path = source->trace.streams[i];
	int err = stream_open(&source->streams[i], source->trace.fd, path);

	if (!err)
		whole_take(&source->whole, source->trace.fd, path, meta, &source->streams[i],
			   false);
	return err;
}

static int add_owner(struct source *source, size_t i, const struct json *meta)
{
	struct stream_span *span = source->spans ? &source->spans[i] : NULL;
	uint64_t first, last;

	if (owner_init(&source->owners[i], meta) < 0)
		return log_no_memory("while reading %s", source->trace.path);
	if (!span)
		return open_stream(source, i, meta);
	span->closed = json_u64(json_get(meta, "bpf.first"), &first) && first <= INT64_MAX &&
		       json_u64(json_get(meta, "bpf.last"), &last) && last <= INT64_MAX;
	if (span->closed)
		*span = (struct stream_span){true, (int64_t)first, (int64_t)last};
	return 0;
}

static int choose_all(void *arg, const struct source *source, bool *wanted)
{
	(void)arg;
	memset(wanted, true, source->trace.nstreams * sizeof(*wanted));
	return 0;
}

/* Opens the streams that are wanted. */
static int open_part(struct source *source, source_choose_fn choose, void *arg)
{
	size_t n = source->trace.nstreams;
	bool *wanted = calloc(n + 1, sizeof(*wanted));
	int err = wanted ? choose(arg, source, wanted)
			 : log_no_memory("for the %zu streams of %s", n, source->trace.path);

	for (size_t i = 0; i < n && !err; i++) {
		struct json *meta = trace_metadata(&source->trace, i);

		source->spans[i].closed &= !wanted[i];
		if (!meta)
			err = -EINVAL;
		else if (source->spans[i].closed)
			whole_take(&source->whole, source->trace.fd, source->trace.streams[i], meta,
				   NULL, false);
		else
			err = open_stream(source, i, meta);
		json_free(meta);
	}
	free(wanted);
	return err;
}

/* Are all streams below one directory? Paths are sorted. */
static bool has_one_directory(const struct trace *trace)
{
	const char *first = trace->streams[0], *last = trace->streams[trace->nstreams - 1];
	size_t n = strcspn(first, "/");

	return n == strcspn(last, "/") && !strncmp(first, last, n);
}

/* May the looms be opened one after the other? Their streams must follow each other, which they do
 * not where a loom has several directories. */
static bool may_go_by_loom(const struct source *source)
{
	struct hash looms = {0};
	bool may = true;

	for (size_t i = 0; i < source->trace.nstreams && may; i++) {
		const char *loom = source->owners[i].loom;
		uint32_t *at;

		may = source->spans[i].closed && !source->owners[i].accelerator;
		if (!may || (i && !strcmp(source->owners[i - 1].loom, loom)))
			continue;
		at = hash_at(&looms, hash_key_of(loom, strlen(loom)));
		may = at && *at == HASH_NONE;
		if (may)
			*at = 0;
	}
	hash_free(&looms);
	return may;
}

/* In a pool they are given back as a whole; a large one is read again. */
static void keep_text(struct trace *trace, size_t i, const struct trace_text *text)
{
	struct trace_text *kept = &trace->texts[i];

	kept->text = text->size && text->size <= TEXT_MOST
			     ? pool_take(trace->text_bytes, text->size)
			     : NULL;
	if (!kept->text)
		return;
	memcpy(kept->text, text->text, text->size);
	kept->size = text->size;
}

static int open_source(struct source *source, const char *path, source_choose_fn choose, void *arg,
		       bool by_loom)
{
	size_t n, bytes = 0;
	int err;

	memset(source, 0, sizeof(*source));
	source->trace.fd = -1;
	err = trace_open(&source->trace, path);
	if (err < 0)
		return err;
	n = source->trace.nstreams;
	if (!n) {
		log_error(TRACE_NO_STREAMS, path);
		return -ENOENT;
	}
	by_loom = by_loom && !has_one_directory(&source->trace);
	source->streams = streams_new(n);
	source->owners = calloc(n + 1, sizeof(*source->owners));
	source->spans = choose || by_loom ? calloc(n + 1, sizeof(*source->spans)) : NULL;
	if (!source->streams || !source->owners || ((choose || by_loom) && !source->spans))
		return log_no_memory("for the %zu streams of %s", n, path);
	/* several programs and their analyses read the metadata again: each file costs three opens
	 */
	source->trace.texts = calloc(n, sizeof(*source->trace.texts));
	source->trace.text_bytes = calloc(1, sizeof(*source->trace.text_bytes));
	if (!source->trace.texts || !source->trace.text_bytes)
		return log_no_memory("for the %zu streams of %s", n, path);
	for (size_t i = 0; i < n; i++) {
		struct trace_text text = {NULL, 0};
		struct json *meta = load_metadata(&source->trace, i, &text);

		bytes += text.size;
		if (bytes <= TEXTS_MOST)
			keep_text(&source->trace, i, &text);
		free(text.text);
		if (!meta)
			return -EINVAL;
		err = add_owner(source, i, meta);
		json_free(meta);
		if (err < 0)
			return err;
	}
	source->by_loom = by_loom && may_go_by_loom(source);
	if (by_loom && !source->by_loom)
		choose = choose_all;
	return choose ? open_part(source, choose, arg) : 0;
}

int source_open_part(struct source *source, const char *path, source_choose_fn choose, void *arg)
{
	return open_source(source, path, choose, arg, false);
}

int source_open_looms(struct source *source, const char *path)
{
	return open_source(source, path, NULL, NULL, true);
}

ssize_t source_open_loom(struct source *loom, struct source *source, size_t from)
{
	const struct owner *owners = source->owners;
	size_t n = 1;
	int err = 0;

	while (from + n < source->trace.nstreams &&
	       !strcmp(owners[from + n].loom, owners[from].loom))
		n++;
	*loom = *source;
	loom->trace.nstreams = n;
	loom->trace.streams += from;
	loom->trace.texts += from;
	if (loom->trace.fixes)
		loom->trace.fixes += from;
	loom->streams += from;
	loom->owners += from;
	loom->spans += from;
	loom->is_loom = true;
	for (size_t i = from; i < from + n && !err; i++) {
		struct json *meta = trace_metadata(&source->trace, i);

		err = meta ? open_stream(source, i, meta) : -EINVAL;
		source->spans[i].closed = err != 0;
		json_free(meta);
	}
	return err ? err : (ssize_t)n;
}

void source_close_loom(struct source *loom)
{
	for (size_t i = 0; i < loom->trace.nstreams; i++) {
		stream_close(&loom->streams[i]);
		loom->spans[i].closed = true;
	}
}

int source_open(struct source *source, const char *path)
{
	return source_open_part(source, path, NULL, NULL);
}

/* The number of machines: streams are sorted, so those of a loom follow each other. */
static size_t count_machines(const struct source *source)
{
	size_t n = 0;

	for (size_t i = 0; i < source->trace.nstreams; i++)
		n += !source->owners[i].accelerator &&
		     (!i || strcmp(source->owners[i - 1].loom, source->owners[i].loom) != 0);
	return n;
}

static void correct_owner(const struct trace *trace, size_t i, struct owner *owner)
{
	for (size_t k = 0; k < owner->nfds; k++) {
		owner->fds[k].from = trace_clock(trace, i, owner->fds[k].from);
		owner->fds[k].to = trace_clock(trace, i, owner->fds[k].to);
	}
	for (size_t k = 0; k < owner->nfutexes; k++)
		owner->futexes[k].from = trace_clock(trace, i, owner->futexes[k].from);
}

int source_correct_clocks(struct source *source)
{
	struct trace *trace = &source->trace;
	int err = clock_table_load(&trace->clocks, trace->fd, CLOCK_OFFSETS_FILE, true, true);

	if (err)
		return err;
	if (!trace->clocks.n) {
		clock_table_warn_missing(count_machines(source));
		return 0;
	}
	trace->fixes = calloc(trace->nstreams + 1, sizeof(*trace->fixes));
	if (!trace->fixes)
		return log_no_memory("for the clocks of %s", trace->path);
	for (size_t i = 0; i < trace->nstreams; i++) {
		const struct clock_row *row =
			clock_table_find(&trace->clocks, source->owners[i].loom);

		if (row)
			trace->fixes[i] = row->fix;
		correct_owner(trace, i, &source->owners[i]);
	}
	trace->clock_bound = clock_table_bound(&trace->clocks);
	return clock_table_check(&trace->clocks, CLOCK_OFFSETS_FILE);
}

void source_close(struct source *source)
{
	for (size_t i = 0; source->owners && i < source->trace.nstreams; i++)
		owner_fini(&source->owners[i]);
	streams_free(source->streams, source->trace.nstreams);
	free(source->owners);
	free(source->spans);
	trace_close(&source->trace);
	memset(source, 0, sizeof(*source));
	source->trace.fd = -1;
}

void source_extend(const struct source *source, int64_t *first, int64_t *last)
{
	if (source->is_loom) {
		*first = source->first < *first ? source->first : *first;
		*last = source->last > *last ? source->last : *last;
		return;
	}
	for (size_t i = 0; source->spans && i < source->trace.nstreams; i++) {
		const struct stream_span *span = &source->spans[i];
		int64_t from, to;

		if (!span->closed)
			continue;
		from = trace_clock(&source->trace, i, span->first);
		to = trace_clock(&source->trace, i, span->last);
		*first = from < *first ? from : *first;
		*last = to > *last ? to : *last;
	}
}

bool source_start(const struct source *source, int64_t *clock)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	bool found;

	source_extend(source, &first, &last);
	found = last > INT64_MIN;
	for (size_t i = 0; i < source->trace.nstreams; i++) {
		struct stream *stream = &source->streams[i];

		if (source->spans && source->spans[i].closed)
			continue;
		stream_rewind(stream);
		if (stream_step(stream) > 0) {
			int64_t start = trace_clock(&source->trace, i, stream->ev.clock);

			if (!found || start < first)
				first = start;
			found = true;
		}
		stream_rewind(stream);
	}
	if (found)
		*clock = first;
	return found;
}
