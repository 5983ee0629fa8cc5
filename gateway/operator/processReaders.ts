/**
 * Reads the metrics of the process from its meters (processMeters.ts).
 * Owner: the gateway thread.
 */
import type { HeapSpaceInfo } from 'node:v8';
import type { Reader } from './metricSources.ts';
import type { MetricName } from './metricTable.ts';
import type { ProcessMeters } from './processMeters.ts';

const MICRO = 1e6;

/** The metrics of the process: values that are absent where the system does not have them. */
type OfProcess = Extract<MetricName, `process_${string}` | `nodejs_${string}`>;

function ofProcess(read: (of: ProcessMeters) => number | undefined): Reader<'process_open_fds'> {
  return ({ process }, observe) => {
    const value = read(process);
    if (value !== undefined) observe({}, value);
  };
}

/** Counts by what they are counts of. */
function byType(read: (of: ProcessMeters) => ReadonlyMap<string, number>): Reader<'nodejs_active_handles'> {
  return ({ process }, observe) => {
    for (const [type, count] of read(process)) observe({ type }, count);
  };
}

function bySpace(read: (space: HeapSpaceInfo) => number): Reader<'nodejs_heap_space_size_used_bytes'> {
  return ({ process: { spaces } }, observe) => {
    for (const space of spaces) observe({ space: space.space_name.replace(/_space$/, '') }, read(space));
  };
}

export const PROCESS_READERS: { readonly [N in OfProcess]: Reader<N> } = {
  process_cpu_user_seconds_total: ofProcess(({ cpu }) => cpu.user / MICRO),
  process_cpu_system_seconds_total: ofProcess(({ cpu }) => cpu.system / MICRO),
  process_cpu_seconds_total: ofProcess(({ cpu }) => (cpu.user + cpu.system) / MICRO),
  process_start_time_seconds: ofProcess(({ startSec }) => startSec),
  process_resident_memory_bytes: ofProcess(({ memory }) => memory.rss),
  process_virtual_memory_bytes: ofProcess(({ status }) => status.get('VmSize')),
  process_heap_bytes: ofProcess(({ status }) => status.get('VmData')),
  process_open_fds: ofProcess((meters) => meters.openFds()),
  process_max_fds: ofProcess(({ maxFds }) => maxFds),
  nodejs_eventloop_lag_seconds: ofProcess(({ lagSec }) => lagSec),
  nodejs_eventloop_lag_min_seconds: ofProcess(({ loop }) => loop.min),
  nodejs_eventloop_lag_max_seconds: ofProcess(({ loop }) => loop.max),
  nodejs_eventloop_lag_mean_seconds: ofProcess(({ loop }) => loop.mean),
  nodejs_eventloop_lag_stddev_seconds: ofProcess(({ loop }) => loop.stddev),
  nodejs_eventloop_lag_p50_seconds: ofProcess(({ loop }) => loop.p50),
  nodejs_eventloop_lag_p90_seconds: ofProcess(({ loop }) => loop.p90),
  nodejs_eventloop_lag_p99_seconds: ofProcess(({ loop }) => loop.p99),
  nodejs_active_resources: byType((meters) => meters.activeResources()),
  nodejs_active_handles: byType((meters) => meters.activeHandles()),
  nodejs_active_requests: byType((meters) => meters.activeRequests()),
  nodejs_heap_size_total_bytes: ofProcess(({ memory }) => memory.heapTotal),
  nodejs_heap_size_used_bytes: ofProcess(({ memory }) => memory.heapUsed),
  nodejs_external_memory_bytes: ofProcess(({ memory }) => memory.external),
  nodejs_heap_space_size_total_bytes: bySpace((space) => space.space_size),
  nodejs_heap_space_size_used_bytes: bySpace((space) => space.space_used_size),
  nodejs_heap_space_size_available_bytes: bySpace((space) => space.space_available_size),
  nodejs_version_info: (_, observe) => {
    const [major, minor, patch] = process.versions.node.split('.');
    observe({ version: process.version, major, minor, patch }, 1);
  },
  nodejs_gc_duration_seconds: ({ process: { gcSec } }, observe) => {
    for (const [kind, seconds] of gcSec) observe({ kind }, seconds);
  },
};
