#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace dunlin::simulator {

// What keys and values look like here, so that whoever reads one can tell whose it is.

std::string KeyName(uint32_t key);

// A value of `bytes` bytes for that key. With 24 bytes or more no two numbers give the same one.
std::string ComposeValue(uint32_t key, uint64_t number, uint64_t bytes);

// Not empty: the value can't be one that was composed for that key, and why.
std::string WhyNotOf(uint32_t key, std::span<const std::byte> value);

// Tells values apart, for the checker of histories.
uint64_t ValueNumber(std::span<const std::byte> value);

}  // namespace dunlin::simulator
