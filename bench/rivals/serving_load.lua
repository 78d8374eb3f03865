-- Load for bench/compare serve, by wrk: `wrk --script serving_load.lua URL -- FILE`. Each line of FILE is a body; they are sent in turn.
-- The last line of the output is JSON: requests, those that failed, seconds, and latencies in milliseconds.
local requests = {}
local next_request = 0

function init(arguments)
  for body in io.lines(arguments[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, { ["Content-Type"] = "application/json" }, body)
  end
end

function request()
  next_request = next_request % #requests + 1
  return requests[next_request]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('{"requests": %d, "failed": %d, "seconds": %.6f, "median": %.3f, "most": %.3f}\n', summary.requests,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout, summary.duration / 1e6,
    latency:percentile(50) / 1000, latency:percentile(95) / 1000))
end
