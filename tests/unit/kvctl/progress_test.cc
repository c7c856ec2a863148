#include "client/kvctl/output/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dunlin::kvctl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kMillisecond = 1'000'000;

class ProgressTest : public ::testing::Test {
 protected:
  Progress Make(ProgressMode mode, bool terminal, int columns = 100) {
    return Progress({.mode = mode, .terminal = terminal, .columns = columns, .label = "import"},
                    &clock_, &sink_);
  }

  ManualClock clock_;
  StringSink sink_;
};

TEST_F(ProgressTest, Bar) {
  Progress progress = Make(ProgressMode::kAuto, true);
  clock_.Advance(2000 * kMillisecond);
  progress.Update({.done = 5000, .bytes = 3 << 20, .fraction = 0.25});
  EXPECT_EQ(sink_.bytes(),
            "\r\x1b[Kimport [=====>              ]  25.0 %  5,000 records  3.00 MiB  2.50 k/s"
            "  0:06 left");
  progress.Finish({.done = 20000, .failed = 3, .bytes = 12 << 20, .fraction = 1.0});
  EXPECT_THAT(sink_.bytes(),
              HasSubstr("[====================]  100.0 %  20,000 records  3 failed"));
  EXPECT_TRUE(sink_.bytes().ends_with("0:02\n"));
}

TEST_F(ProgressTest, DrawsTenTimesASecondAtMost) {
  Progress progress = Make(ProgressMode::kAuto, true);
  for (int i = 1; i <= 1000; ++i) {
    clock_.Advance(kMillisecond);
    progress.Update({.done = static_cast<uint64_t>(i)});
  }
  EXPECT_EQ(std::count(sink_.bytes().begin(), sink_.bytes().end(), '\r'), 10);
}

TEST_F(ProgressTest, NeverWiderThanTheTerminal) {
  Progress progress = Make(ProgressMode::kAuto, true, 20);
  clock_.Advance(1000 * kMillisecond);
  progress.Update({.done = 5000, .fraction = 0.5});
  EXPECT_EQ(sink_.bytes(), "\r\x1b[Kimport [==========>");
}

TEST_F(ProgressTest, AlmostAllIsNot100Percent) {
  Progress progress = Make(ProgressMode::kAuto, true);
  clock_.Advance(1000 * kMillisecond);
  progress.Update({.done = 1, .fraction = 0.99999});
  EXPECT_THAT(sink_.bytes(), HasSubstr(" 99.9 %"));
}

TEST_F(ProgressTest, LinesWhereThereIsNoTerminal) {
  Progress progress = Make(ProgressMode::kAlways, false);
  for (int i = 1; i <= 11; ++i) {
    clock_.Advance(1000 * kMillisecond);
    progress.Update({.done = static_cast<uint64_t>(i)});
  }
  EXPECT_EQ(sink_.bytes(),
            "import  5 records  1.00 /s  0:05\n"
            "import  10 records  1.00 /s  0:10\n");
  progress.Finish({.done = 11});
  EXPECT_TRUE(sink_.bytes().ends_with("import  11 records  1.00 /s  0:11\n"));
}

TEST_F(ProgressTest, TheLastLineIsWrittenOnce) {
  Progress progress = Make(ProgressMode::kAlways, false);
  clock_.Advance(5000 * kMillisecond);
  progress.Update({.done = 10, .fraction = 1});
  progress.Finish({.done = 10, .fraction = 1});
  EXPECT_EQ(sink_.bytes(), "import  100.0 %  10 records  2.00 /s  0:05\n");
}

TEST_F(ProgressTest, SilentByDefaultWithoutTerminalAndWhenToldSo) {
  Progress automatic = Make(ProgressMode::kAuto, false);
  Progress never = Make(ProgressMode::kNever, true);
  clock_.Advance(60'000 * kMillisecond);
  for (Progress* progress : {&automatic, &never}) {
    progress->Update({.done = 1});
    progress->Hide();
    progress->Finish({.done = 1});
  }
  EXPECT_EQ(sink_.bytes(), "");
}

TEST_F(ProgressTest, HideClearsADrawnBarOnce) {
  Progress progress = Make(ProgressMode::kAuto, true);
  progress.Hide();
  EXPECT_EQ(sink_.bytes(), "");
  clock_.Advance(1000 * kMillisecond);
  progress.Update({.done = 1});
  const size_t before = sink_.bytes().size();
  progress.Hide();
  progress.Hide();
  EXPECT_EQ(sink_.bytes().substr(before), "\r\x1b[K");
}

class FullDisk final : public ByteSink {
 public:
  absl::Status Write(std::string_view) override {
    ++calls;
    return absl::InternalError("full");
  }
  absl::Status Flush() override { return absl::OkStatus(); }
  int calls = 0;
};

TEST_F(ProgressTest, AFailingSinkIsLeftAlone) {
  FullDisk sink;
  Progress progress({.terminal = true, .label = "x"}, &clock_, &sink);
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(1000 * kMillisecond);
    progress.Update({});
  }
  progress.Finish({});
  EXPECT_EQ(sink.calls, 1);
}

}  // namespace
}  // namespace dunlin::kvctl
