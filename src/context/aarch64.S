// aarch64.S — the switch on aarch64 (AAPCS64). Contract: context.hpp. Empty on any other architecture.
//
// A saved context is 176 bytes on its own stack. `sp` points to the lowest, 16-byte aligned:
//
//     sp + 160  FPCR                       sp + 32  x21, x22
//     sp + 144  d14, d15                   sp + 16  x19, x20
//      ...                                 sp +  0  x29, and x30: where it goes on
//     sp +  96  d8, d9
//     sp +  80  x27, x28
//
// FPCR is cheap to read, so weft_switch carries the whole floating-point environment and weft_switch_fp is
// the same function. Unwind rules, and why a fresh context is begun by branches: as in x86_64.S. In the rules
// d8 to d15 go by their DWARF numbers, 72 to 79.
#if defined(__aarch64__)

.macro function name
  .globl \name
  .hidden \name
  .type \name, %function
  .p2align 4
.endm

// The unwind rules of a saved context, for code that comes upon one with sp at its lowest byte.
.macro rules_of_saved_context
  .cfi_def_cfa sp, 176
  .cfi_offset x29, -176
  .cfi_offset x30, -168
  .cfi_offset x19, -160
  .cfi_offset x20, -152
  .cfi_offset x21, -144
  .cfi_offset x22, -136
  .cfi_offset x23, -128
  .cfi_offset x24, -120
  .cfi_offset x25, -112
  .cfi_offset x26, -104
  .cfi_offset x27, -96
  .cfi_offset x28, -88
  .cfi_offset 72, -80
  .cfi_offset 73, -72
  .cfi_offset 74, -64
  .cfi_offset 75, -56
  .cfi_offset 76, -48
  .cfi_offset 77, -40
  .cfi_offset 78, -32
  .cfi_offset 79, -24
.endm

.macro restore_registers
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #176
  .cfi_def_cfa_offset 0
  .cfi_same_value x29
  .cfi_same_value x30
  .cfi_same_value x19
  .cfi_same_value x20
  .cfi_same_value x21
  .cfi_same_value x22
  .cfi_same_value x23
  .cfi_same_value x24
  .cfi_same_value x25
  .cfi_same_value x26
  .cfi_same_value x27
  .cfi_same_value x28
  .cfi_same_value 72
  .cfi_same_value 73
  .cfi_same_value 74
  .cfi_same_value 75
  .cfi_same_value 76
  .cfi_same_value 77
  .cfi_same_value 78
  .cfi_same_value 79
.endm

// With sp at the lowest byte of a saved context.
.macro resume
  adrp x11, weft_context_begin_after_nop
  add x11, x11, :lo12:weft_context_begin_after_nop
  ldr x10, [sp, #8]
  cmp x10, x11
  b.eq 9f
  .cfi_remember_state
  restore_registers
  ret
9:
  .cfi_restore_state
  restore_registers
  .cfi_undefined x30
  b weft_context_begin_after_nop
.endm

  .text

// void weft_switch(context* from, context to)
function weft_switch
function weft_switch_fp
weft_switch:
weft_switch_fp:
  .cfi_startproc
  stp x29, x30, [sp, #-176]!
  .cfi_def_cfa_offset 176
  .cfi_offset x29, -176
  .cfi_offset x30, -168
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  rules_of_saved_context
  mrs x9, fpcr
  str x9, [sp, #160]
  mov x10, sp
  str x10, [x0]
  mov sp, x1
  ldr x10, [sp, #160]
  cmp x9, x10
  b.ne 2f
1:
  .cfi_remember_state
  resume
2:
  .cfi_restore_state
  msr fpcr, x10
  b 1b
  .cfi_endproc
  .size weft_switch, . - weft_switch
  .size weft_switch_fp, . - weft_switch_fp

// void weft_jump(context to)
function weft_jump
weft_jump:
  .cfi_startproc
  .cfi_undefined x30        // until sp is replaced there is no caller any more
  mrs x9, fpcr
  mov sp, x0
  rules_of_saved_context
  ldr x10, [sp, #160]
  cmp x9, x10
  b.eq 1f
  msr fpcr, x10
1:
  resume
  .cfi_endproc
  .size weft_jump, . - weft_jump

// void weft_call_on_top_of(context of, void (*fn)(void*), void* arg)
// While fn runs, the unwind rules say that this function's frame is the saved context: see x86_64.S.
function weft_call_on_top_of
weft_call_on_top_of:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset x29, -32
  .cfi_offset x30, -24
  str x19, [sp, #16]
  .cfi_offset x19, -16
  .cfi_remember_state
  mov x19, x0               // fn preserves it
  mov x29, x0               // the frame chain too goes on at the saved context
  rules_of_saved_context
  .cfi_def_cfa_register x19
  mov x0, x2
  blr x1
  .cfi_restore_state
  ldr x19, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_same_value x19
  .cfi_same_value x29
  .cfi_same_value x30
  ret
  .cfi_endproc
  .size weft_call_on_top_of, . - weft_call_on_top_of

// Where a fresh context begins: entry in x19, its argument in x20. The nop: see x86_64.S.
function weft_context_begin
weft_context_begin:
  .cfi_startproc
  .cfi_undefined x30        // the outermost frame
  nop
  .globl weft_context_begin_after_nop
  .hidden weft_context_begin_after_nop
weft_context_begin_after_nop:
  mov x0, x20
  adr x30, 1f               // a call, but for the predictor
  br x19
1:
  brk #1
  .cfi_endproc
  .size weft_context_begin, . - weft_context_begin

#endif
  .section .note.GNU-stack, "", %progbits
