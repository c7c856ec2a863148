#pragma once

#include "dunlin/client.h"
#include "proto/control.pb.h"

namespace dunlin {

ServerStatus ToServerStatus(const control::StatusReply& reply);

}  // namespace dunlin
