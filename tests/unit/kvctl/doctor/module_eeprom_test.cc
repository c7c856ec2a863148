#include "client/kvctl/doctor/module_eeprom.h"

#include <gtest/gtest.h>

#include <vector>

namespace dunlin::kvctl {
namespace {

void Set(std::vector<uint8_t>* memory, size_t at, uint16_t word) {
  (*memory)[at] = static_cast<uint8_t>(word >> 8);
  (*memory)[at + 1] = static_cast<uint8_t>(word);
}

// SFF-8472, table 9-5 (thresholds) and 9-11 (readings), on page A2h; byte 92 of page A0h.
TEST(ModuleEeprom, AnSfpModule) {
  std::vector<uint8_t> memory(512);
  memory[0] = 0x03;
  memory[92] = 0x68;
  Set(&memory, 256 + 0, 75 << 8);
  Set(&memory, 256 + 4, 70 << 8);
  Set(&memory, 256 + 34, 800);
  Set(&memory, 256 + 38, 1200);
  Set(&memory, 256 + 96, 0x2d80);  // 45.5
  Set(&memory, 256 + 102, 5000);
  Set(&memory, 256 + 104, 4321);
  const auto readings = ReadModule(ModuleLayout::kSff8472, memory);
  ASSERT_TRUE(readings.ok()) << readings.status();
  EXPECT_EQ(readings->celsius, 45.5);
  EXPECT_EQ(readings->celsius_warning, 70);
  EXPECT_EQ(readings->celsius_alarm, 75);
  EXPECT_EQ(readings->receive_microwatts, std::vector<double>{432.1});
  EXPECT_EQ(readings->transmit_microwatts, std::vector<double>{500});
  EXPECT_EQ(readings->receive_low_alarm, 80);
  EXPECT_EQ(readings->receive_low_warning, 120);
}

// SFF-8636, lower page 00h and thresholds on page 03h.
TEST(ModuleEeprom, AQsfpModule) {
  std::vector<uint8_t> memory(640);
  memory[0] = 0x11;
  Set(&memory, 22, 0xff00);  // -1
  Set(&memory, 26, 33000);
  for (size_t lane = 0; lane < 4; ++lane) {
    Set(&memory, 34 + 2 * lane, static_cast<uint16_t>(1000 + lane));
    Set(&memory, 50 + 2 * lane, 2000);
  }
  Set(&memory, 512, 80 << 8);
  Set(&memory, 516, 75 << 8);
  Set(&memory, 562, 300);
  Set(&memory, 566, 500);
  const auto readings = ReadModule(ModuleLayout::kSff8636, memory);
  ASSERT_TRUE(readings.ok()) << readings.status();
  EXPECT_EQ(readings->celsius, -1);
  EXPECT_EQ(readings->receive_microwatts, (std::vector<double>{100, 100.1, 100.2, 100.3}));
  EXPECT_EQ(readings->celsius_alarm, 80);
  EXPECT_EQ(readings->celsius_warning, 75);
  EXPECT_EQ(readings->receive_low_alarm, 30);
  EXPECT_EQ(readings->receive_low_warning, 50);

  memory.resize(256);  // without page 03h
  const auto without = ReadModule(ModuleLayout::kSff8436, memory);
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without->celsius_alarm.has_value());
}

TEST(ModuleEeprom, ACmisModuleTellsItsTemperature) {
  std::vector<uint8_t> memory(256);
  memory[0] = 0x18;
  Set(&memory, 14, 50 << 8);
  Set(&memory, 16, 33000);
  const auto readings = ReadModule(ModuleLayout::kSff8636, memory);
  ASSERT_TRUE(readings.ok());
  EXPECT_EQ(readings->celsius, 50);
  EXPECT_TRUE(readings->receive_microwatts.empty());
}

TEST(ModuleEeprom, CopperShortAndUnknownMemoryHaveNoReadings) {
  EXPECT_FALSE(ReadModule(ModuleLayout::kSff8472, std::vector<uint8_t>(512)).ok());
  EXPECT_FALSE(ReadModule(ModuleLayout::kSff8472, std::vector<uint8_t>(256)).ok());
  EXPECT_FALSE(ReadModule(ModuleLayout::kSff8079, std::vector<uint8_t>(256)).ok());
  EXPECT_FALSE(ReadModule(ModuleLayout::kSff8636, std::vector<uint8_t>(640)).ok());
  EXPECT_FALSE(ReadModule(ModuleLayout::kSff8636, std::vector<uint8_t>(10)).ok());
  EXPECT_FALSE(ReadModule(ModuleLayout::kSff8636, {}).ok());
  EXPECT_FALSE(ReadModule(static_cast<ModuleLayout>(99), std::vector<uint8_t>(640)).ok());
  std::vector<uint8_t> calibrated(512);
  calibrated[92] = 0x50;
  EXPECT_FALSE(ReadModule(ModuleLayout::kSff8472, calibrated).ok());
}

}  // namespace
}  // namespace dunlin::kvctl
