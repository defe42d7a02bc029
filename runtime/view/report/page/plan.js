// The plan that this page is about, and what can be asked of it.
'use strict';

const D = JSON.parse(document.getElementById('data').textContent);
const S = D.summary;

const plan = (() => {
  const nodeOf = [], firstOf = [];
  D.world.nodes.forEach((size, node) => {
    firstOf.push(nodeOf.length);
    for (let i = 0; i < size; ++i) nodeOf.push(node);
  });
  const rankOf = new Map(D.world.participants.map((device, rank) => [device, rank]));
  const most = (list, field) => list.reduce((m, role) => Math.max(m, role[field] + 1), 1);
  const stages = {prev: most(D.roles.prev, 'stage'), curr: most(D.roles.curr, 'stage')};
  const tensors = {prev: most(D.roles.prev, 'tensor'), curr: most(D.roles.curr, 'tensor')};
  const trackOf = new Map(D.tracks.map((track) => [track.program, track]));
  const fromNodes = new Map();
  for (const [from, to, size] of D.flows)
    if (nodeOf[from] !== nodeOf[to]) fromNodes.set(to, (fromNodes.get(to) || 0) + size);

  const program = (device) =>
      D.devices.program[device] < 0 ? null : D.programs[D.devices.program[device]];
  const role = (device, side) => {
    const p = program(device);
    return p && p[side] >= 0 ? D.roles[side][p[side]] : null;
  };
  // Transit arrives where it does not stay.
  const movedBytes = S.moved_bytes - S.transit_bytes;

  return {
    nodeOf,
    firstOf,
    rankOf,
    stages,
    tensors,
    program,
    role,
    deviceCount: nodeOf.length,
    /** Bytes that arrive where they stay, over all devices. */
    movedBytes,
    /** Bytes of the current state, over all devices. */
    stateBytes: movedBytes + S.kept_bytes + S.derived_bytes + S.zeroed_bytes,
    roundCount: S.rounds,
    internodeIn: (device) => fromNodes.get(device) || 0,
    /** What a device's rounds do to its memory and ports, or null. */
    track: (device) => trackOf.get(D.devices.program[device]) || null,
    /** "P2T1D3": with the replica's number where the role has several. */
    roleName(device, side) {
      const r = role(device, side);
      if (r) return r.name;
      if (side === 'prev' && D.devices.prev_rank[device] >= 0) return 'lost';
      return 'none';
    },
    color(role_, side) {
      const slices = tensors[side];
      return partColor(
          (role_.stage + 0.5) / stages[side], slices === 1 ? 0.45 : role_.tensor / (slices - 1));
    },
    stageColor(stage, side) {
      return partColor((stage + 0.5) / stages[side], 0.45);
    },
    stateOf: (p) => Math.max(p.prev_bytes, p.curr_bytes),
    /** Rows of a tooltip about a device. */
    facts(device) {
      const p = program(device);
      const rows = [
        ['node', String(nodeOf[device])], ['before', plan.roleName(device, 'prev')],
        ['after', plan.roleName(device, 'curr')]
      ];
      if (!p) return rows;
      rows.push(
          ['keeps', bytes(p.kept)], ['receives', bytes(p.received)],
          ['… from other nodes', bytes(plan.internodeIn(device))], ['sends', bytes(p.sent)],
          ['peak', bytes(p.peak) + ' = ' + (p.peak / plan.stateOf(p)).toFixed(4) + ' x']);
      return rows;
    },
  };
})();

/** When rounds end: predicted, or measured. */
class Clock {
  constructor(times) {
    this.times = times;
    this.perDevice = times.track_of_rank.length > 0;
    this.ends = times.tracks.map((track) => {
      let now = 0;
      return track.map((duration) => (now += duration) / 1e6);
    });
  }
  /** Ends of a device's rounds, in seconds. */
  endsOf(device) {
    if (!this.perDevice) return this.times.ends.map((end) => end / 1e6);
    return this.ends[this.times.track_of_rank[plan.rankOf.get(device)]];
  }
  /** The longest that a device takes for a round, waits included. */
  longest(round) {
    if (!this.perDevice) return this.end(round) - this.begin(round);
    return this.times.tracks.reduce((most, track) => Math.max(most, track[round]), 0) / 1e6;
  }
  begin(round) {
    return this.times.begins[round] / 1e6;
  }
  end(round) {
    return this.times.ends[round] / 1e6;
  }
  get seconds() {
    return this.times.seconds;
  }
  get isEmpty() {
    return this.times.ends.length === 0;
  }
}

const predicted = new Clock(D.predicted);
const measured = D.measured ? new Clock(D.measured) : null;
