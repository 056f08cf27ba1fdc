"use strict";
// Order of the results of the page search: sections by how well they answer, records of decisions late.
var Scorer = {
  // The values of Sphinx itself.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// Words of a question that say nothing about its subject.
const FILLER =
  "add best can change choose compute create do example explain find get give happen how i is make many method mean " +
  "my need possible set should show tell try use using want way what when where which why with work";
// Words of one meaning in the field, also those of other tools: a section with one answers a query for another.
const SYNONYMS = `
  dof freedom joints axis axes | knots intervals nodes mesh grid discretization segments | realtime online replan mpc nmpc
  oscillates chatter ripple ringing wiggles | gripper hand tool effector tcp flange | payload load
  collision obstacle fence clearance rrt chomp stomp moveit | velocity speed | torque moment | actuator motor
  trajectory motion path | gait walk walking | step stride cadence footstep | subject person human patient
  electromyography emg | markers mocap capture trc vicon | cost objective criterion | constraint limit bound
  final terminal end mayer bolza | initial start | start hello beginner introduction quickstart | error fails failed
  export save write csv | plot figure draw picture | animate video film movie view visualize viewer meshcat
  spring elastic flexible compliance stiffness | friction damping damper viscous | install installation pip
  humanoid biped legged quadruped feet | gradient derivative jacobian hessian | adjoint costate multiplier
  pontryagin hamiltonian transversality pmp costate | integrate simulate forward ode45 simulink
  fast quick seconds minutes | delay latency | identify identification estimate fit calibration
  uncertainty uncertain robust stochastic confidence covariance
  solver ipopt slsqp sqp qp optimizer fmincon snopt acados fatrop | feedback gain lqr ilqr ddp riccati
  shooting bvp | algebraic dae | collocation dircol pseudospectral radau gauss
  cyclic periodic | crane pendulum | rocket spacecraft | orbit satellite spacecraft | quadrotor drone | glider aircraft
  vehicle car bicycle mobile wheeled nonholonomic | exercise homework course assignment exam grading lecture teacher student | cluster slurm hpc
  reaction grf plate | impact touchdown heelstrike | switching bang | retime toppra | problem ocp | program nlp
  urdf xacro mjcf sdf | opensim moco bioptim biorbd anybody | fibre fiber pennation | waypoints via
  redundant redundancy nullspace | spline bezier | weigh tradeoff pareto multiobjective | design codesign
  phases hybrid | limp weak stroke elderly asymmetry asymmetric | rms thermal heat | slope uphill incline ramp stairs
  licence license copyright | offline internet network
`.trim().split(/\s*[|\n]\s*/);

// Sections are ranked by how often they have the words of a query (BM25), and half as much by how often the whole
// page has them; `extensions/search_passages.py` counts. Each page is shown once, by its best section. What Sphinx
// finds by names comes after, or before where the query is a name of the code.
(() => {
  if (typeof Search === "undefined") return; // this file is loaded after searchtools.js, before the query
  const FACTORS = [
    [/^(decisions|architecture|papers|gait_thesis)/, 0.5],
    [/^(index|notation|library|homework_solutions|releasing|generated|published|robustness|assembly)$/, 0.8],
    [/(_violations|_measured|_benchmark|_accuracy|benchmarks)$/, 0.8],
    [/^(howto|tutorials|start|first_term)/, 1.15],
  ];
  const NAME_OF_CODE = /^[\w.]*([_.]|[a-z][A-Z])[\w.]*(\(\))?$/;
  // Count at which a word has half its weight; part of it that grows with length; weights of a word of one meaning,
  // of a word mended, and of the whole page.
  const [SATURATION, LENGTH, LIKE, MENDED, PAGE] = [1.2, 0.5, 0.6, 0.8, 0.5];
  const stemmer = new Stemmer();
  const stem = (words) => words.split(" ").map((word) => stemmer.stemWord(word));
  const filler = new Set(stem(FILLER));
  const groups = SYNONYMS.map(stem);
  const inPages = (word) => Object.hasOwn(Search._index.counts, word);

  // Stems in the pages that a stem of the query stands for, each with a weight.
  const meanings = (word) => {
    const american = word.replace(/is(e|ed|ing|ation|)$/, "iz$1").replace(/our/, "or").replace(/tre$/, "ter");
    const found = new Map([word, american, stemmer.stemWord(american)].filter(inPages).map((each) => [each, 1]));
    if (!found.size && word.length > 5) {
      for (let cut = 3; cut <= word.length - 3; cut++) {
        const parts = stem(`${word.slice(0, cut)} ${word.slice(cut)}`); // written as one word
        if (parts.every(inPages)) parts.forEach((part) => found.set(part, MENDED));
      }
      const start = word.slice(0, Math.max(5, word.length - 3)); // another ending, or a slip in the last letters
      const near = (each) => each.startsWith(start) && each.length <= word.length + 3;
      if (!found.size) Object.keys(Search._index.counts).filter(near).forEach((each) => found.set(each, MENDED));
    }
    for (const group of groups.filter((each) => each.includes(word)))
      for (const like of group) if (inPages(like) && !found.has(like)) found.set(like, LIKE);
    return found;
  };

  // The weight of each place, a passage or a page: over the words, rarity times count / (count + saturation).
  const weights = (words, lengths, placeOf) => {
    const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    const total = new Float64Array(lengths.length);
    for (const word of words) {
      const best = new Map();
      let rarity = 0;
      for (const [stem, weight] of meanings(word)) {
        const often = new Map();
        const pairs = Search._index.counts[stem]; // passage, count, passage, count ...
        for (let k = 0; k < pairs.length; k += 2) {
          const place = placeOf(pairs[k]);
          often.set(place, (often.get(place) ?? 0) + pairs[k + 1]);
        }
        rarity ||= Math.log(1 + lengths.length / often.size); // that of the word itself, where the pages have it
        for (const [place, count] of often) {
          const half = SATURATION * (1 - LENGTH + (LENGTH * lengths[place]) / mean);
          best.set(place, Math.max(best.get(place) ?? 0, (weight * count) / (count + half)));
        }
      }
      for (const [place, weight] of best) total[place] += rarity * weight;
    }
    return total;
  };

  const withNames = Search._performSearch;
  Search._performSearch = (query, given, excluded, ...others) => {
    const { docnames, filenames, titles, passages } = Search._index;
    const telling = [...given].filter((word) => word.length > 1 && !filler.has(word));
    const words = telling.length ? telling : [...given];
    words.push(...words.slice(1).map((word, k) => words[k] + word).filter(inPages)); // written as two words

    const lengths = new Array(docnames.length).fill(0);
    passages.forEach(([page, , , length]) => (lengths[page] += length));
    const ofPages = weights(words, lengths, (passage) => passages[passage][0]);
    const best = new Map(); // page -> its best section
    weights(words, passages.map((each) => each[3]), (passage) => passage).forEach((weight, k) => {
      const [page, anchor, heading] = passages[k];
      if (weight > (best.get(page)?.weight ?? 0)) best.set(page, { weight, anchor, heading });
    });
    const sections = [...best].map(([page, { weight, anchor, heading }]) => [
      docnames[page],
      heading ? `${titles[page]} > ${heading}` : titles[page],
      anchor ? `#${anchor}` : "",
      null,
      (FACTORS.find(([names]) => names.test(docnames[page]))?.[1] ?? 1) * (weight + PAGE * ofPages[page]),
      filenames[page],
      SearchResultKind.text,
    ]);
    sections.sort((a, b) => a[4] - b[4]); // the best one is the last
    const shown = new Set(sections.map(([name]) => name));
    const named = withNames(query, given, excluded, ...others).filter(
      ([name, , , , , , kind]) => kind === SearchResultKind.object || !shown.has(name),
    );
    return NAME_OF_CODE.test(query.trim()) ? [...sections, ...named] : [...named, ...sections];
  };
})();
