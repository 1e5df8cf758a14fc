/* SPDX-License-Identifier: MIT */
/* loom_channel: the messages between a writer and `ovni-loom record` (see loom_channel.h). */
#include "trace/loom/write/loom_channel.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC	       "LOOMCHAN"
#define WIRE_VERSION   1
#define HELLO_SIZE     16
#define COUNTS	       5
#define ANSWER_SECONDS 30

static int send_all(int fd, const uint8_t *at, size_t size)
{
	while (size) {
		ssize_t n = send(fd, at, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Receives exactly `size` bytes: 1, or 0 at the end of the stream. */
static int receive_all(int fd, uint8_t *at, size_t size)
{
	while (size) {
		ssize_t n = recv(fd, at, size, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ECONNRESET ? 0 : -errno;
		if (n == 0)
			return 0;
		at += n;
		size -= (size_t)n;
	}
	return 1;
}

static int send_one(int fd, enum channel_kind kind, const void *bytes, uint32_t size)
{
	uint32_t head[2] = {htole32(kind), htole32(size)};
	int err = send_all(fd, (const uint8_t *)head, sizeof(head));

	return err ? err : send_all(fd, bytes, size);
}

/* Receives a message of at most `most` bytes. */
static int receive(int fd, struct channel_message *m, uint32_t most)
{
	uint32_t head[2];
	int got = receive_all(fd, (uint8_t *)head, sizeof(head));

	if (got <= 0)
		return got;
	m->size = le32toh(head[1]);
	if (le32toh(head[0]) < CHANNEL_HELLO || le32toh(head[0]) >= CHANNEL_KINDS || m->size > most)
		return -EBADMSG;
	m->kind = (enum channel_kind)le32toh(head[0]);
	return receive_all(fd, m->bytes, m->size);
}

/* ---- the writer ---- */

int channel_wait(int fd)
{
	uint8_t bytes[4];
	struct channel_message m = {.bytes = bytes};
	int got = receive(fd, &m, sizeof(bytes));
	uint32_t number;

	if (got <= 0)
		return got == -EAGAIN ? -ETIMEDOUT : got ? got : -EPIPE;
	if (m.kind != CHANNEL_ANSWER || m.size != sizeof(number))
		return -EBADMSG;
	memcpy(&number, bytes, sizeof(number));
	number = le32toh(number);
	return number < 4096 ? -(int)number : -EBADMSG;
}

int channel_send(int fd, enum channel_kind kind, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	int err;

	do {
		uint32_t n = size < CHANNEL_MOST ? (uint32_t)size : CHANNEL_MOST;

		err = send_one(fd, kind, at, n);
		at += n;
		size -= n;
	} while (size && !err);
	/* the recorder gave its reason before it closed */
	if (err == -EPIPE || err == -ECONNRESET) {
		err = channel_wait(fd);
		return err ? err : -EPIPE;
	}
	return err;
}

int channel_send_counts(int fd, enum channel_kind kind, const struct loom_account *a)
{
	uint64_t counts[COUNTS] = {htole64(a->seen), htole64(a->written), htole64(a->filtered),
				   htole64(a->sampled_out), htole64(a->dropped)};

	return channel_send(fd, kind, counts, sizeof(counts));
}

int channel_address(struct sockaddr_un *name, const char *path)
{
	size_t length = strlen(path);

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (length >= sizeof(name->sun_path))
		return -ENAMETOOLONG;
	memcpy(name->sun_path, path, length);
	return 0;
}

int channel_connect(const char *path, const struct channel_hello *hello)
{
	struct sockaddr_un name;
	struct timeval patience = {.tv_sec = ANSWER_SECONDS};
	uint8_t bytes[HELLO_SIZE] = MAGIC;
	uint32_t version = htole32(WIRE_VERSION);
	int fd, err;

	err = channel_address(&name, path);
	if (err)
		return err;
	memcpy(bytes + 8, &version, sizeof(version));
	bytes[12] = (uint8_t)hello->mode;
	bytes[13] = (uint8_t)hello->as;
	bytes[14] = (uint8_t)hello->statistics;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&name, sizeof(name))) {
		err = errno == ENOENT ? -ECONNREFUSED : -errno;
		goto failed;
	}
	err = setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ? -errno : 0;
	if (!err)
		err = channel_send(fd, CHANNEL_HELLO, bytes, sizeof(bytes));
	if (!err)
		err = channel_wait(fd);
	/* the answer to the end takes as long as the disk needs */
	patience.tv_sec = 0;
	if (!err && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		err = -errno;
	if (!err)
		return fd;
failed:
	close(fd);
	return err;
}

/* ---- the recorder ---- */

int channel_receive(int fd, struct channel_message *m)
{
	return receive(fd, m, CHANNEL_MOST);
}

bool channel_parse_hello(const struct channel_message *m, struct channel_hello *hello)
{
	uint32_t version = htole32(WIRE_VERSION);

	if (m->kind != CHANNEL_HELLO || m->size != HELLO_SIZE || memcmp(m->bytes, MAGIC, 8) ||
	    memcmp(m->bytes + 8, &version, sizeof(version)) || m->bytes[12] > LOOM_SUMMARY ||
	    m->bytes[13] > LOOM_AS_NATURAL48 || m->bytes[14] > LOOM_STATISTICS_LEGACY)
		return false;
	*hello = (struct channel_hello){(enum loom_mode)m->bytes[12],
					(enum loom_written)m->bytes[13],
					(enum loom_statistics)m->bytes[14]};
	return true;
}

/* seen = written + filtered + sampled_out + dropped + buffered */
bool channel_parse_counts(const struct channel_message *m, struct loom_account *a)
{
	uint64_t counts[COUNTS], rest;

	if ((m->kind != CHANNEL_COUNTS && m->kind != CHANNEL_END) || m->size != sizeof(counts))
		return false;
	memcpy(counts, m->bytes, sizeof(counts));
	rest = le64toh(counts[0]);
	for (int i = 1; i < COUNTS; i++) {
		counts[i] = le64toh(counts[i]);
		if (counts[i] > rest)
			return false;
		rest -= counts[i];
	}
	*a = (struct loom_account){.seen = le64toh(counts[0]),
				   .written = counts[1],
				   .filtered = counts[2],
				   .sampled_out = counts[3],
				   .dropped = counts[4]};
	return true;
}

int channel_answer(int fd, int err)
{
	uint32_t number = htole32((uint32_t)-err);

	return send_one(fd, CHANNEL_ANSWER, &number, sizeof(number));
}
