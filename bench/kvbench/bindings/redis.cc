#include <hiredis/hiredis.h>
#include <sys/time.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kvbench/bindings/bindings.h"
#include "bench/kvbench/bindings/endpoint.h"
#include "common/base/status.h"
#include "common/base/sync.h"

namespace dunlin::kvbench {
namespace {

struct Settings {
  Endpoint server;
  std::string password;
  int64_t timeout_ms = 0;
  bool mget = true;
};

// Where hiredis puts replies: one leaf after the other, arrays unfolded. Takes no memory once it
// has been as large as it gets.
class Replies {
 public:
  struct Leaf {
    int type = 0;
    long long integer = 0;
    size_t at = 0;
    size_t bytes = 0;
  };

  void Clear() {
    leaves_.clear();
    text_.clear();
  }
  size_t size() const { return leaves_.size(); }
  const Leaf& operator[](size_t i) const { return leaves_[i]; }
  // Holds until more is added.
  std::string_view Text(const Leaf& leaf) const {
    return std::string_view(text_).substr(leaf.at, leaf.bytes);
  }

  static redisReplyObjectFunctions* Functions() {
    static redisReplyObjectFunctions functions = {AddString, AddArray, AddInteger, AddNil, Free};
    return &functions;
  }

 private:
  // hiredis wants an object for each reply, and looks only at whether there is one.
  static void* Add(const redisReadTask* task, const Leaf& leaf) {
    auto* const self = static_cast<Replies*>(task->privdata);
    self->leaves_.push_back(leaf);
    return self;
  }
  static void* AddString(const redisReadTask* task, char* text, size_t bytes) {
    auto* const self = static_cast<Replies*>(task->privdata);
    const size_t at = self->text_.size();
    self->text_.append(text, bytes);
    return Add(task, {task->type, 0, at, bytes});
  }
  static void* AddArray(const redisReadTask* task, int) { return task->privdata; }
  static void* AddInteger(const redisReadTask* task, long long integer) {
    return Add(task, {task->type, integer, 0, 0});
  }
  // The task calls it a string or an array.
  static void* AddNil(const redisReadTask* task) { return Add(task, {REDIS_REPLY_NIL, 0, 0, 0}); }
  static void Free(void*) {}

  std::vector<Leaf> leaves_;
  std::string text_;
};

// A connection that is made anew when it was lost.
class Connection {
 public:
  explicit Connection(const Settings& settings) : settings_(settings) {}

  // Unless there is a connection.
  absl::Status Connect() {
    if (context_ != nullptr) return absl::OkStatus();
    const timeval timeout = {settings_.timeout_ms / 1000, settings_.timeout_ms % 1000 * 1000};
    const Endpoint& server = settings_.server;
    context_.reset(server.socket.empty()
                       ? redisConnectWithTimeout(server.host.c_str(), server.port, timeout)
                       : redisConnectUnixWithTimeout(server.socket.c_str(), timeout));
    if (context_ == nullptr) return absl::ResourceExhaustedError("no memory for a connection");
    if (context_->err == 0) redisSetTimeout(context_.get(), timeout);
    if (context_->err != 0) return Lost();
    context_->reader->fn = Replies::Functions();
    context_->reader->privdata = &replies_;
    context_->reader->maxbuf = 0;  // keeps its buffer, however large
    return settings_.password.empty() ? absl::OkStatus() : Authenticate();
  }

  // Writes `commands`, of which there are `count`, and waits for all replies.
  absl::Status Run(std::string_view commands, size_t count) {
    DUNLIN_RETURN_IF_ERROR(Connect());
    replies_.Clear();
    if (redisAppendFormattedCommand(context_.get(), commands.data(), commands.size()) != REDIS_OK) {
      return Lost();
    }
    for (size_t i = 0; i < count; ++i) {
      void* reply = nullptr;
      if (redisGetReply(context_.get(), &reply) != REDIS_OK) return Lost();
    }
    return absl::OkStatus();
  }

  const Replies& replies() const { return replies_; }

  // Of a command that has one reply, which is no array.
  absl::StatusOr<Replies::Leaf> RunOne(std::string_view command) {
    DUNLIN_RETURN_IF_ERROR(Run(command, 1));
    if (replies_.size() != 1) return MoreOrFewer();
    return replies_[0];
  }

 private:
  absl::Status Authenticate() {
    const std::string& password = settings_.password;
    std::string command =
        "*2\r\n$4\r\nAUTH\r\n$" + std::to_string(password.size()) + "\r\n" + password + "\r\n";
    DUNLIN_ASSIGN_OR_RETURN(const Replies::Leaf leaf, RunOne(command));
    if (leaf.type == REDIS_REPLY_ERROR) {
      const std::string error(replies_.Text(leaf));
      context_.reset();
      return absl::PermissionDeniedError("redis.password: the server says " + error);
    }
    return absl::OkStatus();
  }

  // Not what is in an array: nothing that is asked for by itself is answered by one.
  absl::Status MoreOrFewer() {
    context_.reset();
    return absl::InternalError("redis-server at " + settings_.server.Name() +
                               ": expected one reply, found " + std::to_string(replies_.size()));
  }

  absl::Status Lost() {
    std::string message = "redis-server at " + settings_.server.Name() + ": " + context_->errstr;
    context_.reset();
    return absl::UnavailableError(message);
  }

  struct Freed {
    void operator()(redisContext* context) const { redisFree(context); }
  };
  const Settings settings_;
  Replies replies_;
  std::unique_ptr<redisContext, Freed> context_;
};

// Commands as the server reads them.
class Commands {
 public:
  void Clear() {
    text_.clear();
    count_ = 0;
  }
  void Begin(size_t words) {
    Number('*', words);
    ++count_;
  }
  void Word(std::string_view word) {
    Number('$', word.size());
    text_.append(word).append("\r\n");
  }
  std::string_view text() const { return text_; }
  size_t count() const { return count_; }

 private:
  void Number(char kind, size_t number) {
    char digits[24];
    digits[0] = kind;
    char* const end = std::to_chars(digits + 1, digits + sizeof digits - 2, number).ptr;
    end[0] = '\r';
    end[1] = '\n';
    text_.append(digits, static_cast<size_t>(end + 2 - digits));
  }

  std::string text_;
  size_t count_ = 0;
};

class Session : public BindingSession {
 public:
  explicit Session(const Settings& settings) : settings_(settings), connection_(settings) {}
  absl::Status Connect() { return connection_.Connect(); }

  void Execute(std::span<Request> requests) override {
    const size_t reads = Compose(requests);
    const absl::Status ended = connection_.Run(commands_.text(), commands_.count());
    if (!ended.ok()) {
      Fail(requests, FromAbsl(ended.message()));
      return;
    }
    const Replies& replies = connection_.replies();
    const size_t others = requests.size() - reads;
    if (replies.size() != requests.size()) {
      // An MGET that was refused has one reply, not one for each key.
      const bool refused = reads > 1 && replies.size() == 1 + others;
      Fail(requests, refused ? replies.Text(replies[0]) : "more or fewer replies than commands");
      return;
    }
    size_t read = 0;
    size_t other = reads;
    for (Request& request : requests) {
      Answer(request, replies[request.op == Op::kRead ? read++ : other++]);
    }
  }
  std::string last_error() const override { return error_; }

 private:
  // Reads first. Returns their number.
  size_t Compose(std::span<Request> requests) {
    size_t reads = 0;
    for (const Request& request : requests) reads += request.op == Op::kRead;
    commands_.Clear();
    const bool together = reads > 1 && settings_.mget;
    if (together) {
      commands_.Begin(1 + reads);
      commands_.Word("MGET");
    }
    for (const Request& request : requests) {
      if (request.op != Op::kRead) continue;
      if (!together) {
        commands_.Begin(2);
        commands_.Word("GET");
      }
      commands_.Word(request.key);
    }
    for (const Request& request : requests) {
      if (request.op != Op::kRead) ComposeWrite(request);
    }
    return reads;
  }

  void ComposeWrite(const Request& request) {
    if (request.op == Op::kDelete) {
      commands_.Begin(2);
      commands_.Word("DEL");
      commands_.Word(request.key);
      return;
    }
    commands_.Begin(3);
    commands_.Word("SET");
    commands_.Word(request.key);
    commands_.Word(request.value);
  }

  void Answer(Request& request, const Replies::Leaf& leaf) {
    request.returned = Return::kOk;
    if (leaf.type == REDIS_REPLY_ERROR) {
      request.returned = Return::kError;
      Remember(connection_.replies().Text(leaf));
    } else if (leaf.type == REDIS_REPLY_NIL ||
               (leaf.type == REDIS_REPLY_INTEGER && leaf.integer == 0)) {
      request.returned = Return::kNotFound;
    } else if (request.op == Op::kRead) {
      request.found = connection_.replies().Text(leaf);
    }
  }

  void Remember(std::string_view error) {
    error_ = error.empty() ? "an error without a word" : error;
  }

  void Fail(std::span<Request> requests, std::string_view why) {
    Remember(why);
    for (Request& request : requests) {
      request.returned = Return::kError;
      request.found = {};
    }
  }

  const Settings settings_;
  Connection connection_;
  Commands commands_;
  std::string error_;
};

class Redis : public Binding {
 public:
  explicit Redis(const Settings& settings) : settings_(settings), control_(settings) {}

  absl::Status Connect() {
    DUNLIN_ASSIGN_OR_RETURN(const std::string info, Info());
    version_ = FieldOf(info, "redis_version");
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<BindingSession>> Open() override {
    auto session = std::make_unique<Session>(settings_);
    DUNLIN_RETURN_IF_ERROR(session->Connect());
    return session;
  }

  ServerUse Use() override {
    const absl::StatusOr<std::string> info = Info();
    if (!info.ok()) return {};
    const double user = std::strtod(FieldOf(*info, "used_cpu_user").c_str(), nullptr);
    const double system = std::strtod(FieldOf(*info, "used_cpu_sys").c_str(), nullptr);
    ServerUse use;
    use.known = true;
    use.cpu_nanos = WholeNumber((user + system) * 1e9);
    use.memory_bytes = std::strtoull(FieldOf(*info, "used_memory").c_str(), nullptr, 10);
    return use;
  }

  std::string Describe() const override {
    return "redis " + version_ + ", " + settings_.server.Kind();
  }

 private:
  absl::StatusOr<std::string> Info() {
    MutexLock lock(mutex_);
    DUNLIN_ASSIGN_OR_RETURN(const Replies::Leaf leaf, control_.RunOne("*1\r\n$4\r\nINFO\r\n"));
    const std::string text(control_.replies().Text(leaf));
    if (leaf.type == REDIS_REPLY_ERROR) return absl::InternalError("redis INFO: " + text);
    return text;
  }

  static std::string FieldOf(std::string_view info, std::string_view name) {
    const std::string before = "\n" + std::string(name) + ":";
    const size_t at = info.find(before);
    if (at == std::string_view::npos) return "";
    const std::string_view rest = info.substr(at + before.size());
    return std::string(rest.substr(0, rest.find('\r')));
  }

  const Settings settings_;
  std::string version_;
  Mutex mutex_;
  Connection control_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<Binding>> MakeRedis(const Properties& properties) {
  Settings settings;
  settings.server.socket = properties.Get("redis.socket", "");
  settings.server.host = properties.Get("redis.host", "127.0.0.1");
  DUNLIN_ASSIGN_OR_RETURN(settings.server.port,
                          ParsePort(properties.Get("redis.port", "6379"), "redis.port"));
  settings.password = properties.Get("redis.password", "");
  DUNLIN_ASSIGN_OR_RETURN(settings.timeout_ms, properties.GetInt("redis.timeout", 2000));
  if (settings.timeout_ms < 1) {
    return absl::InvalidArgumentError("redis.timeout: expected milliseconds, at least 1, found " +
                                      std::to_string(settings.timeout_ms));
  }
  DUNLIN_ASSIGN_OR_RETURN(settings.mget, properties.GetBool("redis.mget", true));
  auto redis = std::make_unique<Redis>(settings);
  const absl::Status connected = redis->Connect();
  if (!connected.ok()) {
    return WithContext(connected,
                       "no redis to be had (start redis-server, or name it with -p "
                       "redis.socket=PATH or redis.host and redis.port)");
  }
  return redis;
}

}  // namespace dunlin::kvbench
