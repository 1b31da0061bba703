// x86_64.S — the switch on x86-64 (System V ABI). Contract: context.hpp. Empty on any other architecture.
//
// A saved context is 64 bytes on its own stack. `sp` points to the lowest, 16-byte aligned:
//
//     sp + 56  where it goes on          sp + 24  r13
//     sp + 48  rbp                       sp + 16  r14
//     sp + 40  rbx                       sp +  8  r15
//     sp + 32  r12                       sp +  4  MXCSR, or 0: the one the process began with
//                                        sp +  0  x87 control word
//
// Both forms of the switch write this frame, so either resumes what the other saved. weft_switch leaves 0 for
// MXCSR (reading it costs 5 ns); weft_switch_fp, when it meets that 0, loads weft_initial_mxcsr.
//
// The frame looks the same before and after rsp is replaced, so one set of unwind rules serves both sides.
// The return-address predictor is a stack of its own, which no switch exchanges. It stays right as long as
// all who come and go look alike to it:
//   - a parked context was left by a call and is resumed by a `ret`. Two goroutines that yield in the same
//     code: 4 ns with ret, 28 with pop and an indirect jump; four calls deep, 9 and 72;
//   - a fresh one is begun by jumps, and ended by a jump (jump.inl), not a call: together they are one long
//     call of weft_switch, and the `ret` in weft_jump is the return from it. A calling convention without
//     that: start, run, join costs 140 ns instead of 80.
#if defined(__x86_64__)

.macro function name
  .globl \name
  .hidden \name
  .type \name, @function
  .p2align 4
.endm

.macro save_registers
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbp, 0
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbx, 0
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r12, 0
  pushq %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r13, 0
  pushq %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r14, 0
  pushq %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset r15, 0
  pushq $0
  .cfi_adjust_cfa_offset 8
.endm

// The unwind rules of a saved context, for code that comes upon one with rsp at its lowest byte.
.macro rules_of_saved_context
  .cfi_def_cfa rsp, 64
  .cfi_offset rbp, -16
  .cfi_offset rbx, -24
  .cfi_offset r12, -32
  .cfi_offset r13, -40
  .cfi_offset r14, -48
  .cfi_offset r15, -56
.endm

.macro restore_registers
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %r15
  .cfi_adjust_cfa_offset -8
  .cfi_same_value r15
  popq %r14
  .cfi_adjust_cfa_offset -8
  .cfi_same_value r14
  popq %r13
  .cfi_adjust_cfa_offset -8
  .cfi_same_value r13
  popq %r12
  .cfi_adjust_cfa_offset -8
  .cfi_same_value r12
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_same_value rbx
  popq %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_same_value rbp
.endm

// With rsp at the lowest byte of a saved context.
.macro resume
  leaq weft_context_begin_after_nop(%rip), %rax
  cmpq %rax, 56(%rsp)
  je 9f
  .cfi_remember_state
  restore_registers
  ret
9:
  .cfi_restore_state
  restore_registers
  .cfi_undefined rip
  addq $8, %rsp
  jmp weft_context_begin_after_nop
.endm

  .text

// void weft_switch(context* from, context to)
function weft_switch
weft_switch:
  .cfi_startproc
  save_registers
  fnstcw (%rsp)
  movzwl (%rsp), %eax
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  cmpw (%rsp), %ax
  jne 2f
1:
  .cfi_remember_state
  resume
2:
  .cfi_restore_state
  fldcw (%rsp)              // tens of cycles: only when it differs
  jmp 1b
  .cfi_endproc
  .size weft_switch, . - weft_switch

// void weft_switch_fp(context* from, context to)
function weft_switch_fp
weft_switch_fp:
  .cfi_startproc
  save_registers
  fnstcw (%rsp)
  stmxcsr 4(%rsp)
  movzwl (%rsp), %eax
  movl 4(%rsp), %ecx
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  cmpw (%rsp), %ax
  je 1f
  fldcw (%rsp)
1:
  movl 4(%rsp), %edx
  testl %edx, %edx
  jne 2f
  movl weft_initial_mxcsr(%rip), %edx
  movl %edx, 4(%rsp)
2:
  cmpl %edx, %ecx
  je 3f
  ldmxcsr 4(%rsp)
3:
  resume
  .cfi_endproc
  .size weft_switch_fp, . - weft_switch_fp

// void weft_jump(context to)
function weft_jump
weft_jump:
  .cfi_startproc
  .cfi_undefined rip        // until rsp is replaced there is no caller any more
  fnstcw -8(%rsp)
  movzwl -8(%rsp), %eax
  movq %rdi, %rsp
  .cfi_restore rip
  rules_of_saved_context
  cmpw (%rsp), %ax
  je 1f
  fldcw (%rsp)
1:
  resume
  .cfi_endproc
  .size weft_jump, . - weft_jump

// void weft_call_on_top_of(context of, void (*fn)(void*), void* arg)
// While fn runs, the unwind rules say that this function's frame is the saved context: unwinders go on to its
// parked caller. Only they do; fn runs on the caller's stack, and the parked one is not touched.
function weft_call_on_top_of
weft_call_on_top_of:
  .cfi_startproc
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset rbx, 0
  .cfi_remember_state
  movq %rdi, %rbx           // fn preserves it
  rules_of_saved_context
  .cfi_def_cfa_register rbx
  movq %rdx, %rdi
  callq *%rsi
  .cfi_restore_state
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_same_value rbx
  ret
  .cfi_endproc
  .size weft_call_on_top_of, . - weft_call_on_top_of

// Where a fresh context begins: entry in rbx, its argument in r12, rsp aligned to 16. An unwinder looks up
// the address before the one a frame returns to: the nop keeps that inside this function for a context that
// has not run yet, whose return address is the instruction after it.
function weft_context_begin
weft_context_begin:
  .cfi_startproc
  .cfi_undefined rip        // the outermost frame
  .cfi_def_cfa rsp, 0
  nop
  .globl weft_context_begin_after_nop
  .hidden weft_context_begin_after_nop
weft_context_begin_after_nop:
  movq %r12, %rdi
  leaq 1f(%rip), %rax
  pushq %rax                // a call, but for the predictor
  jmpq *%rbx
1:
  ud2
  .cfi_endproc
  .size weft_context_begin, . - weft_context_begin

#endif
  .section .note.GNU-stack, "", %progbits
